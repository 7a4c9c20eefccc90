/* needs: lanes_f64 sqrt_f64 */
/* (x - mean) / sqrt(variance + epsilon) over the axis in the middle; the mean is 0 unless
   `subtracts`. */
static void ht_normalize_f32(const float *x, int32_t outer, int32_t extent, int32_t inner,
                             float epsilon, int32_t subtracts, float *y) {
  const double count = (double)extent;
  for (int32_t line = 0; line < outer * inner; ++line) {
    const int32_t first = line / inner * extent * inner + line % inner;
    const float *from = x + first;
    const double mean = subtracts ? ht_lanes_f64(from, extent, inner, 0, 1) / count : 0;
    const double variance = ht_lanes_f64(from, extent, inner, mean, 2) / count;
    const double factor = 1 / ht_sqrt_f64(variance + (double)epsilon);
    for (int32_t k = 0; k < extent; ++k) {
      y[first + k * inner] = (float)(((double)from[k * inner] - mean) * factor);
    }
  }
}
