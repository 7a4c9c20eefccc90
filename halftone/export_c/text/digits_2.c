/* needs: digits multiply_add after */
/* sums[c] += sum_k x[k] w[c][k] of four outputs and so many words of x; see ht_digits_2().
 * Returns the mask. */
static inline uint32_t ht_some_digits_2(const uint32_t *x, const uint32_t *w, uint32_t words,
                                    uint32_t mask, uint32_t *sums) {
  uint32_t v = w[0], p = x[0];
  uint32_t a = p * (v & mask);
  uint32_t b = p * (v >> 2 & mask);
  uint32_t c = p * (v >> 4 & mask);
  uint32_t d = p * (v >> 6 & mask);
  for (uint32_t i = 1; i < words; ++i) {
    v = w[i];
    p = x[i];
    a = ht_add(a, p, v & mask);
    b = ht_add(b, p, v >> 2 & mask);
    c = ht_add(c, p, v >> 4 & mask);
    d = ht_add(d, p, v >> 6 & mask);
  }
  sums[0] += a >> 24;
  sums[1] += b >> 24;
  sums[2] += c >> 24;
  sums[3] += d >> 24;
  return ht_after(mask, sums);
}

/* sums[o] += factor (2 sum_k x[k] w[o][k] + shift sum_k x[k]) of evenly spaced weights 0 to 3.
 * x: digits of ht_digits(), `words` planes' words, at most 7, so that 12 products fit a byte; and
 * their sum, `total`. w: of each four outputs, of each word of x a word: bits 8 i + 2 c and above are
 * w of input 3 - i in output c; zeros behind the last output. */
static void ht_digits_2(const uint32_t *x, uint32_t words, int32_t total, int32_t shift,
                        const uint32_t *w, uint32_t outputs, int32_t factor, int32_t *sums) {
  uint32_t mask = ht_in_register(0x03030303u);
  const uint32_t *const end = x + 8u * words;
  const int32_t of_total = factor * shift * total;
  const int32_t twice = 2 * factor;
  for (uint32_t o = 0; o < outputs; o += 4u) {
    uint32_t four[4] = {0, 0, 0, 0};
    for (const uint32_t *each = x; each != end; each += 8, w += 8) {
      mask = ht_some_digits_2(each, w, 3, mask, four);
      mask = ht_some_digits_2(each + 3, w + 3, 3, mask, four);
      mask = ht_some_digits_2(each + 6, w + 6, 2, mask, four);
    }
    for (uint32_t i = 0; i < 4u && o + i < outputs; ++i) {
      sums[o + i] += twice * (int32_t)four[i] + of_total;
    }
  }
}
