/* needs: inside */
/* Adds to sums[0 to 3] the products of a row of taps of four channels. */
static inline void ht_add_taps(const int8_t *x, int32_t x_step, const int16_t *w, int32_t w_step,
                               int32_t taps, int32_t *sums) {
  int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
  for (; taps > 0; --taps, x += x_step, w += w_step) {
    a += x[0] * w[0];
    b += x[1] * w[1];
    c += x[2] * w[2];
    d += x[3] * w[3];
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

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
  const int32_t first_column = left + first_x * at->dilation_x;
  for (int32_t c = 0; c < channels;) {
    const int32_t some = channels - c < 4 ? 1 : 4;
    int32_t sums[4] = {0, 0, 0, 0};
    int32_t line = first_line;
    for (int32_t ky = first_y; first_x < last_x && ky < last_y; ++ky) {
      const int8_t *pixel = x + (line * at->width + first_column) * channels + c;
      const int16_t *tap = w + (ky * at->kernel_width + first_x) * channels + c;
      if (some == 4) {
        ht_add_taps(pixel, at->dilation_x * channels, tap, channels, last_x - first_x, sums);
      } else {
        for (int32_t kx = first_x; kx < last_x; ++kx) {
          sums[0] += pixel[(kx - first_x) * at->dilation_x * channels] *
                     tap[(kx - first_x) * channels];
        }
      }
      line += at->dilation_y;
      while (line >= lines) line -= lines;
    }
    for (int32_t i = 0; i < some; ++i, ++c) y[c] = base[c] + scales[c] * (float)sums[i];
  }
}
