/* y += x */
static void ht_add_to_f64(const float *x, int32_t n, double *y) {
  for (int32_t i = 0; i < n; ++i) y[i] += (double)x[i];
}
