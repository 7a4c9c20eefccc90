/* needs: exp_f64 */
/* sum e^(beta (x - largest)) along an axis, in float64, and the largest number of it. */
static double ht_exp_sum_f64(const float *x, int32_t extent, int32_t step, float beta,
                             float *largest) {
  double sum = 0;
  *largest = x[0];
  for (int32_t i = 1; i < extent; ++i) {
    if (x[i * step] > *largest) *largest = x[i * step];
  }
  for (int32_t i = 0; i < extent; ++i) sum += ht_exp_f64((double)(beta * (x[i * step] - *largest)));
  return sum;
}
