static void ht_is_nan_f32(const float *x, int32_t n, uint8_t *y) {
  for (int32_t i = 0; i < n; ++i) y[i] = (uint8_t)(x[i] != x[i]);
}
