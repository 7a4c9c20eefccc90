/* needs: add_four */
/* sums[i] += sum_k x[k] w[i step + k] of four rows of weights, modulo 2^32: each input is read once.
   Alone its loop has registers for all. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static void ht_dot_four_i8(const int8_t *x, const int8_t *w, int32_t step, int32_t n,
                           uint32_t *sums) {
  uint32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
  const int32_t two = 2 * step, three = 3 * step;
  const int8_t *const end = x + n;
#if defined(__ARM_FEATURE_DSP)
  for (const int8_t *const fours = x + (n & ~3); x != fours; x += 4, w += 4) {
    uint32_t four;
    memcpy(&four, x, 4);
    const int16x2_t even = ht_even_bytes(four), odd = ht_odd_bytes(four);
    a = (uint32_t)ht_add_four((int32_t)a, even, odd, w);
    w = ht_behind(w, a);
    b = (uint32_t)ht_add_four((int32_t)b, even, odd, w + step);
    w = ht_behind(w, b);
    c = (uint32_t)ht_add_four((int32_t)c, even, odd, w + two);
    w = ht_behind(w, c);
    d = (uint32_t)ht_add_four((int32_t)d, even, odd, w + three);
  }
#endif
  for (; x != end; ++x, ++w) {
    const int32_t input = *x;
    a += (uint32_t)(input * w[0]);
    b += (uint32_t)(input * w[step]);
    c += (uint32_t)(input * w[two]);
    d += (uint32_t)(input * w[three]);
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}
