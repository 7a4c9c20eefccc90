/* needs: inside */
/* y[c] = base[c] + scales[c] sum_k w[k][c] x[k][c] at output pixel (oy, ox); weights [taps, channels].
   Line i of the image lies in line i modulo `lines` of x. */
static void ht_depthwise_levels_f32(const int8_t *x, const ht_window *at, int32_t lines, int32_t oy,
                                    int32_t ox, const int16_t *w, const float *base,
                                    const float *scales, float *y) {
  const int32_t channels = at->channels;
  const int32_t top = oy * at->stride_y - at->pad_top;
  const int32_t left = ox * at->stride_x - at->pad_left;
  int32_t first_y, last_y, first_x, last_x;
  ht_inside(top, at->dilation_y, at->kernel_height, at->height, &first_y, &last_y);
  ht_inside(left, at->dilation_x, at->kernel_width, at->width, &first_x, &last_x);
  const int32_t first_line = (top + first_y * at->dilation_y) % lines;
  for (int32_t c = 0; c < channels; ++c) {
    int32_t sum = 0;
    int32_t line = first_line;
    for (int32_t ky = first_y; ky < last_y; ++ky) {
      const int32_t row = line * at->width + left;
      for (int32_t kx = first_x; kx < last_x; ++kx) {
        const int32_t tap = ky * at->kernel_width + kx;
        sum += x[(row + kx * at->dilation_x) * channels + c] * w[tap * channels + c];
      }
      line += at->dilation_y;
      while (line >= lines) line -= lines;
    }
    y[c] = base[c] + scales[c] * (float)sum;
  }
}
