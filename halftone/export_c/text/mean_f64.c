/* y[i] = sums[i] / count, rounded to float32. */
static void ht_mean_f64(const double *sums, int32_t n, int32_t count, float *y) {
  for (int32_t i = 0; i < n; ++i) y[i] = (float)(sums[i] / (double)count);
}
