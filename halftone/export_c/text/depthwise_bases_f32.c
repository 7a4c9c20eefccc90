/* needs: inside */
/* What the outputs of a channel of ht_depthwise_levels_f32() have besides the products, for each way
   in which taps lie outside the image: bases[p][c] = bias + offset sum_k w_k less the share of those
   outside, in float64, in this order, then rounded. pixels[p] is an output (y, x) of each; bias may
   be null. */
static void ht_depthwise_bases_f32(const ht_window *at, const int16_t *pixels, int32_t count,
                                   const int16_t *w, const float *bias, const float *scales,
                                   float offset, float *bases) {
  const int32_t channels = at->channels, taps = at->kernel_height * at->kernel_width;
  for (int32_t c = 0; c < channels; ++c) {
    int32_t all = 0;
    for (int32_t k = 0; k < taps; ++k) all += w[k * channels + c];
    const double inner =
        (bias ? (double)bias[c] : 0) + (double)offset * ((double)scales[c] * (double)all);
    for (int32_t p = 0; p < count; ++p) {
      int32_t outside = all;
      int32_t first_y, last_y, first_x, last_x;
      ht_inside(pixels[2 * p] * at->stride_y - at->pad_top, at->dilation_y, at->kernel_height,
                at->height, &first_y, &last_y);
      ht_inside(pixels[2 * p + 1] * at->stride_x - at->pad_left, at->dilation_x, at->kernel_width,
                at->width, &first_x, &last_x);
      for (int32_t ky = first_y; ky < last_y; ++ky) {
        for (int32_t kx = first_x; kx < last_x; ++kx) {
          outside -= w[(ky * at->kernel_width + kx) * channels + c];
        }
      }
      bases[p * channels + c] =
          (float)(inner - (double)offset * ((double)scales[c] * (double)outside));
    }
  }
}
