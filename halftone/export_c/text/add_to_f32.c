/* y += x */
static void ht_add_to_f32(const float *x, int32_t n, float *y) {
  for (int32_t i = 0; i < n; ++i) y[i] += x[i];
}
