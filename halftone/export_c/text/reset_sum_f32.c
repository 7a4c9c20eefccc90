/* y = x + r y: the new gate of a GRU whose product is reset */
static void ht_reset_sum_f32(const float *x, const float *r, int32_t n, float *y) {
  for (int32_t i = 0; i < n; ++i) {
    const float product = r[i] * y[i];
    y[i] = x[i] + product;
  }
}
