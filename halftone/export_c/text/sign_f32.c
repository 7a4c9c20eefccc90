/* -1, 0 or 1 */
static void ht_sign_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = (float)((x[i] > 0) - (x[i] < 0));
}
