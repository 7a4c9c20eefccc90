/* needs: exp_sum_f64 log_f64 */
/* Along the axis in the middle: z - log sum e^z with z = beta (x - largest), in float64. */
static void ht_log_softmax_f64(const float *x, int32_t outer, int32_t extent, int32_t inner,
                               float beta, float *y) {
  for (int32_t line = 0; line < outer * inner; ++line) {
    const int32_t first = line / inner * extent * inner + line % inner;
    float largest;
    const double rest = ht_log_f64(ht_exp_sum_f64(x + first, extent, inner, beta, &largest));
    for (int32_t i = 0; i < extent; ++i) {
      const double z = (double)(beta * (x[first + i * inner] - largest));
      y[first + i * inner] = (float)(z - rest);
    }
  }
}
