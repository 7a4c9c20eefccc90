/* sums[i] += sum_k x[k] w[i step + k] of four rows of weights, modulo 2^32: each input is read once. */
static void ht_dot_four_i8(const int8_t *x, const int8_t *w, int32_t step, int32_t n,
                           uint32_t *sums) {
  const int8_t *v = w + step, *u = v + step, *t = u + step;
  uint32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
  int32_t k = 0;
#if defined(__ARM_FEATURE_DSP)
  for (; k + 4 <= n; k += 4) {
    uint32_t four;
    memcpy(&four, x + k, 4);
    const int16x2_t even = __sxtb16((int8x4_t)four);
    const int16x2_t odd = __sxtb16((int8x4_t)(four >> 8 | four << 24));
    memcpy(&four, w + k, 4);
    a = (uint32_t)__smlad(even, __sxtb16((int8x4_t)four), (int32_t)a);
    a = (uint32_t)__smlad(odd, __sxtb16((int8x4_t)(four >> 8 | four << 24)), (int32_t)a);
    memcpy(&four, v + k, 4);
    b = (uint32_t)__smlad(even, __sxtb16((int8x4_t)four), (int32_t)b);
    b = (uint32_t)__smlad(odd, __sxtb16((int8x4_t)(four >> 8 | four << 24)), (int32_t)b);
    memcpy(&four, u + k, 4);
    c = (uint32_t)__smlad(even, __sxtb16((int8x4_t)four), (int32_t)c);
    c = (uint32_t)__smlad(odd, __sxtb16((int8x4_t)(four >> 8 | four << 24)), (int32_t)c);
    memcpy(&four, t + k, 4);
    d = (uint32_t)__smlad(even, __sxtb16((int8x4_t)four), (int32_t)d);
    d = (uint32_t)__smlad(odd, __sxtb16((int8x4_t)(four >> 8 | four << 24)), (int32_t)d);
  }
#endif
  for (; k < n; ++k) {
    const int32_t input = x[k];
    a += (uint32_t)(input * w[k]);
    b += (uint32_t)(input * v[k]);
    c += (uint32_t)(input * u[k]);
    d += (uint32_t)(input * t[k]);
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}
