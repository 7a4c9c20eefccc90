/* y[o] += half_steps[o] sums[o] + centers[o] total, in this order: the share of a group of inputs. */
static void ht_fold_levels_f32(const int32_t *sums, int32_t total, int32_t outputs,
                               const float *half_steps, const float *centers, float *y) {
  for (int32_t o = 0; o < outputs; ++o) {
    y[o] += half_steps[o] * (float)sums[o];
    if (centers) y[o] += centers[o] * (float)total;
  }
}
