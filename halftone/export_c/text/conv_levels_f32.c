/* y[o] of a convolution of 8-bit codes from sums[o] of the products and the sum of the codes of a
   window, in this order; centers may be null. */
static void ht_conv_levels_f32(const int32_t *sums, int32_t x_sum, int32_t outputs,
                               const float *base, const float *half_steps, const float *centers,
                               float *y) {
  for (int32_t o = 0; o < outputs; ++o) {
    float sum = base[o];
    sum += half_steps[o] * (float)sums[o];
    if (centers) sum += centers[o] * (float)x_sum;
    y[o] = sum;
  }
}
