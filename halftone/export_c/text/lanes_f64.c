/* The sum of (x[k] - center)^power over an axis, in float64: in order; of neighbours in 16 parts
   first, each in order, then in halves. A power of -1 is that of |x|. */
static double ht_term_f64(double x, int32_t power) {
  return power == 2 ? x * x : power == 1 || x >= 0 ? x : -x;
}

static double ht_lanes_f64(const float *x, int32_t extent, int32_t step, double center,
                           int32_t power) {
  double parts[16] = {0};
  for (int32_t k = 0; k < extent; ++k) {
    const int32_t part = step == 1 ? k % 16 : 0;
    parts[part] += ht_term_f64((double)x[k * step] - center, power);
  }
  for (int32_t half = 8; step == 1 && half != 0; half /= 2) {
    for (int32_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  }
  return parts[0];
}
