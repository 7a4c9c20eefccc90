/* needs: inside */
/* The mean of each window and channel, without padding, ties up. */
static void ht_mean_pool_u8(const uint8_t *x, const ht_window *at, uint8_t *y) {
  for (int32_t p = 0; p < at->out_height * at->out_width; ++p) {
    const int32_t top = p / at->out_width * at->stride_y - at->pad_top;
    const int32_t left = p % at->out_width * at->stride_x - at->pad_left;
    int32_t first_y, last_y, first_x, last_x;
    ht_inside(top, at->dilation_y, at->kernel_height, at->height, &first_y, &last_y);
    ht_inside(left, at->dilation_x, at->kernel_width, at->width, &first_x, &last_x);
    const int32_t taps = (last_y - first_y) * (last_x - first_x);
    const int32_t count = taps > 0 ? taps : 1;
    for (int32_t c = 0; c < at->channels; ++c) {
      int32_t sum = count / 2;
      for (int32_t ky = first_y; ky < last_y; ++ky) {
        for (int32_t kx = first_x; kx < last_x; ++kx) {
          const int32_t pixel =
              (top + ky * at->dilation_y) * at->width + left + kx * at->dilation_x;
          sum += x[pixel * at->channels + c];
        }
      }
      *y++ = (uint8_t)(sum / count);
    }
  }
}
