/* needs: window unpack */
/* The levels of the window of output pixel (oy, ox), 0 outside the image. x: codes of few bits, each
   pixel from a byte on; to: [taps][channels]. */
static void ht_gather_packed(const uint8_t *x, int32_t bits, const int8_t *levels,
                             const ht_window *at, int32_t oy, int32_t ox, int8_t *to) {
  const int32_t top = oy * at->stride_y - at->pad_top;
  const int32_t left = ox * at->stride_x - at->pad_left;
  const int32_t bytes = (at->channels * bits + 7) / 8;
  for (int32_t ky = 0; ky < at->kernel_height; ++ky) {
    const int32_t row = top + ky * at->dilation_y;
    for (int32_t kx = 0; kx < at->kernel_width; ++kx, to += at->channels) {
      const int32_t column = left + kx * at->dilation_x;
      if (row < 0 || row >= at->height || column < 0 || column >= at->width) {
        memset(to, 0, (size_t)at->channels);
      } else {
        ht_unpack(x + (row * at->width + column) * bytes, at->channels, bits, levels, to);
      }
    }
  }
}
