/* needs: ones */
/* The sum of a row of bit planes without offset: plane i counts +-scales[i]. totals[i] is its number
   of ones. */
static float ht_plane_sums_f32(const uint32_t *x, int32_t planes, int32_t n, const float *scales,
                               uint32_t *totals) {
  const uint32_t words = ((uint32_t)n + 31u) / 32u;
  float sum = 0;
  for (int32_t i = 0; i < planes; ++i) {
    totals[i] = ht_ones(x + (uint32_t)i * words, words);
    sum += scales[i] * (float)(2 * (int32_t)totals[i] - n);
  }
  return sum;
}
