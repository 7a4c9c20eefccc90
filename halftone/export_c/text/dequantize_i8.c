/* y = scale (x - zero) */
static void ht_dequantize_i8(const int8_t *x, int32_t n, float scale, int32_t zero, float *y) {
  for (int32_t i = 0; i < n; ++i) y[i] = scale * (float)(x[i] - zero);
}
