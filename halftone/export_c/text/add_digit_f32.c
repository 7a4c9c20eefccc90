/* y[o] += sum_j (unit scales[o][j]) sums[o][j], in this order. */
static void ht_add_digit_f32(const int32_t *sums, float unit, const float *scales, int32_t w_planes,
                             int32_t outputs, float *y) {
  for (int32_t o = 0; o < outputs; ++o) {
    float sum = y[o];
    for (int32_t j = 0; j < w_planes; ++j) sum += (unit * *scales++) * (float)*sums++;
    y[o] = sum;
  }
}
