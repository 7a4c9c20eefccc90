/* needs: add_four */
/* sum_k x[k] w[k] modulo 2^32 */
static uint32_t ht_dot_i8(const int8_t *x, const int8_t *w, int32_t n) {
  uint32_t sum = 0;
  int32_t k = 0;
#if defined(__ARM_FEATURE_DSP)
  for (; k + 4 <= n; k += 4) {
    uint32_t four;
    memcpy(&four, x + k, 4);
    sum = (uint32_t)ht_add_four((int32_t)sum, ht_even_bytes(four), ht_odd_bytes(four), w + k);
  }
#endif
  for (; k < n; ++k) sum += (uint32_t)(x[k] * w[k]);
  return sum;
}
