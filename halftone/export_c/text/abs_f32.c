/* |x| */
static void ht_abs_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = x[i] <= 0 ? 0.0f - x[i] : x[i];
}
