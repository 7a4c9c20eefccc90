/* needs: window unpack */
/* Levels of the lines of an image that the window of output pixel p is the first to need. They take
   turns in the memory of `count` lines: line i lies in i modulo count. */
static void ht_next_lines(const uint8_t *x, int32_t bits, const int8_t *levels, const ht_window *at,
                          int32_t p, int32_t count, int8_t *lines) {
  if (p % at->out_width != 0) return;
  const int32_t bytes = (at->channels * bits + 7) / 8;
  const int32_t top = p / at->out_width * at->stride_y - at->pad_top;
  const int32_t end = top + (at->kernel_height - 1) * at->dilation_y + 1;
  int32_t line = p == 0 || end - at->stride_y < top ? top : end - at->stride_y;
  for (line = line < 0 ? 0 : line; line < end && line < at->height; ++line) {
    int8_t *to = lines + line % count * at->width * at->channels;
    for (int32_t column = 0; column < at->width; ++column, to += at->channels) {
      ht_unpack(x + (line * at->width + column) * bytes, at->channels, bits, levels, to);
    }
  }
}
