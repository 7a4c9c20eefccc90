/* Numbers above `high` become it. */
static void ht_at_most_f32(float *x, int32_t n, float high) {
  for (int32_t i = 0; i < n; ++i) x[i] = x[i] > high ? high : x[i];
}
