/* needs: requantize */
/* y[i] = code of (a[i] - a_zero) (b[i] - b_zero) */
static void ht_multiply_i8(const int8_t *a, int32_t a_zero, const int8_t *b, int32_t b_zero,
                           int32_t n, const ht_codes *how, int8_t *y) {
  for (int32_t i = 0; i < n; ++i) {
    y[i] = (int8_t)ht_code((a[i] - a_zero) * (b[i] - b_zero), how, 0);
  }
}
