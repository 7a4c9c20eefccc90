/* needs: inside requantize */
/* The same as ht_conv_groups_i8() for weights less zero points, which no byte holds. */
static void ht_conv_wide_i8(const int8_t *x, int32_t zero, const ht_window *at, int32_t groups,
                            const int16_t *w, const int32_t *bias, const ht_codes *how,
                            int8_t *y) {
  const int32_t channels = at->channels / groups;
  const int32_t window = at->kernel_height * at->kernel_width * channels;
  for (int32_t p = 0; p < at->out_height * at->out_width; ++p) {
    const int32_t top = p / at->out_width * at->stride_y - at->pad_top;
    const int32_t left = p % at->out_width * at->stride_x - at->pad_left;
    int32_t first_y, last_y, first_x, last_x;
    ht_inside(top, at->dilation_y, at->kernel_height, at->height, &first_y, &last_y);
    ht_inside(left, at->dilation_x, at->kernel_width, at->width, &first_x, &last_x);
    for (int32_t o = 0; o < at->outputs; ++o) {
      const int32_t first_channel = o / (at->outputs / groups) * channels;
      uint32_t sum = (uint32_t)bias[o];
      for (int32_t ky = first_y; ky < last_y; ++ky) {
        const int32_t row = (top + ky * at->dilation_y) * at->width + left;
        for (int32_t kx = first_x; kx < last_x; ++kx) {
          const int8_t *pixel = x + (row + kx * at->dilation_x) * at->channels + first_channel;
          const int16_t *tap = w + o * window + (ky * at->kernel_width + kx) * channels;
          for (int32_t c = 0; c < channels; ++c) {
            sum += (uint32_t)((pixel[c] - zero) * tap[c]);
          }
        }
      }
      *y++ = (int8_t)ht_code((int32_t)sum, how, o);
    }
  }
}
