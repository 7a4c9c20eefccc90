/* needs: inside requantize */
/* A convolution of each channel with weights of its own, [taps, channels], four channels at once. */
static void ht_depthwise_i8(const int8_t *x, int32_t zero, const ht_window *at, const int8_t *w,
                            const int32_t *bias, const ht_codes *how, int8_t *y) {
  const int32_t channels = at->channels;
  for (int32_t p = 0; p < at->out_height * at->out_width; ++p) {
    const int32_t top = p / at->out_width * at->stride_y - at->pad_top;
    const int32_t left = p % at->out_width * at->stride_x - at->pad_left;
    int32_t first_y, last_y, first_x, last_x;
    ht_inside(top, at->dilation_y, at->kernel_height, at->height, &first_y, &last_y);
    ht_inside(left, at->dilation_x, at->kernel_width, at->width, &first_x, &last_x);
    for (int32_t c = 0; c < channels; c += 4) {
      const int32_t some = channels - c < 4 ? channels - c : 4;
      int32_t sums[4] = {0, 0, 0, 0};
      for (int32_t ky = first_y; ky < last_y; ++ky) {
        const int32_t row = (top + ky * at->dilation_y) * at->width + left;
        for (int32_t kx = first_x; kx < last_x; ++kx) {
          const int8_t *from = x + (row + kx * at->dilation_x) * channels + c;
          const int8_t *tap = w + (ky * at->kernel_width + kx) * channels + c;
          if (some == 4) {
            sums[0] += (from[0] - zero) * tap[0];
            sums[1] += (from[1] - zero) * tap[1];
            sums[2] += (from[2] - zero) * tap[2];
            sums[3] += (from[3] - zero) * tap[3];
          } else {
            for (int32_t i = 0; i < some; ++i) sums[i] += (from[i] - zero) * tap[i];
          }
        }
      }
      for (int32_t i = 0; i < some; ++i) {
        const uint32_t sum = (uint32_t)bias[c + i] + (uint32_t)sums[i];
        *y++ = (int8_t)ht_code((int32_t)sum, how, c + i);
      }
    }
  }
}
