/* sum_k x[k] w[k] modulo 2^32 */
static uint32_t ht_dot_i8(const int8_t *x, const int8_t *w, int32_t n) {
  uint32_t sum = 0;
  int32_t k = 0;
#if defined(__ARM_FEATURE_DSP)
  int32_t sums = 0;
  for (; k + 4 <= n; k += 4) {
    uint32_t x4;
    uint32_t w4;
    memcpy(&x4, x + k, 4);
    memcpy(&w4, w + k, 4);
    sums = __smlad(__sxtb16((int8x4_t)x4), __sxtb16((int8x4_t)w4), sums);
    sums = __smlad(__sxtb16((int8x4_t)(x4 >> 8 | x4 << 24)),
                   __sxtb16((int8x4_t)(w4 >> 8 | w4 << 24)), sums);
  }
  sum = (uint32_t)sums;
#endif
  for (; k < n; ++k) sum += (uint32_t)(x[k] * w[k]);
  return sum;
}
