/* needs: window */
/* The channels [first, first + count) of the window of output pixel (oy, ox), `outside` outside the
   image. x: [pixels][channels]; to: [taps][count]. */
static void ht_gather_bytes(const int8_t *x, int8_t outside, const ht_window *at, int32_t oy,
                            int32_t ox, uint32_t first, uint32_t count, int8_t *to) {
  const int32_t top = oy * at->stride_y - at->pad_top;
  const int32_t left = ox * at->stride_x - at->pad_left;
  for (int32_t ky = 0; ky < at->kernel_height; ++ky) {
    const int32_t row = top + ky * at->dilation_y;
    for (int32_t kx = 0; kx < at->kernel_width; ++kx, to += count) {
      const int32_t column = left + kx * at->dilation_x;
      if (row < 0 || row >= at->height || column < 0 || column >= at->width) {
        memset(to, outside, count);
      } else {
        memcpy(to, x + (row * at->width + column) * at->channels + first, count);
      }
    }
  }
}
