/* x where it is above a threshold, else 0 */
static void ht_thresholded_f32(float *x, int32_t n, float threshold) {
  for (int32_t i = 0; i < n; ++i) x[i] = x[i] > threshold ? x[i] : 0;
}
