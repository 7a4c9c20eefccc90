/* slope x where x < 0, else x */
static void ht_leaky_relu_f32(float *x, int32_t n, float slope) {
  for (int32_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? slope * x[i] : x[i];
}
