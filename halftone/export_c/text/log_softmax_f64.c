/* needs: exp_f64 log_f64 */
/* Along the axis in the middle: z - log sum e^z with z = beta (x - largest), in float64. */
static void ht_log_softmax_f64(const float *x, int32_t outer, int32_t extent, int32_t inner,
                               float beta, float *y) {
  for (int32_t line = 0; line < outer * inner; ++line) {
    const int32_t first = line / inner * extent * inner + line % inner;
    float largest = x[first];
    double sum = 0;
    for (int32_t i = 1; i < extent; ++i) {
      if (x[first + i * inner] > largest) largest = x[first + i * inner];
    }
    for (int32_t i = 0; i < extent; ++i) {
      sum += ht_exp_f64((double)(beta * (x[first + i * inner] - largest)));
    }
    const double rest = ht_log_f64(sum);
    for (int32_t i = 0; i < extent; ++i) {
      const double z = (double)(beta * (x[first + i * inner] - largest));
      y[first + i * inner] = (float)(z - rest);
    }
  }
}
