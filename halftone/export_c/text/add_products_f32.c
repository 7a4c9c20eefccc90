/* y += a b */
static void ht_add_products_f32(const float *a, const float *b, int32_t n, float *y) {
  for (int32_t i = 0; i < n; ++i) y[i] += a[i] * b[i];
}
