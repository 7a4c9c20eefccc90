/* y[o] = sums[o] scale + offset totals[o] + bias[o]; the last two may be null. */
static void ht_finish_levels_f32(const float *sums, float scale, int32_t outputs, float offset,
                                 const float *totals, const float *bias, float *y) {
  for (int32_t o = 0; o < outputs; ++o) {
    float sum = sums[o] * scale;
    if (totals) sum += offset * totals[o];
    if (bias) sum += bias[o];
    y[o] = sum;
  }
}
