/* Numbers below `low` become it. */
static void ht_at_least_f32(float *x, int32_t n, float low) {
  for (int32_t i = 0; i < n; ++i) x[i] = x[i] < low ? low : x[i];
}
