/* x x */
static void ht_square_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = x[i] * x[i];
}
