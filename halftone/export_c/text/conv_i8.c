/* needs: inside sum_i8 dot_i8 requantize */
/* A convolution without groups and dilation: each line of a window is one product. Outside of the
   image x is its zero point, which is part of the bias. Weights are [outputs, taps, channels]. */
static void ht_conv_i8(const int8_t *x, int32_t zero, const ht_window *at, const int8_t *w,
                       const int32_t *bias, const ht_codes *how, int8_t *y) {
  const int32_t line = at->kernel_width * at->channels;
  const int32_t window = at->kernel_height * line;
  for (int32_t p = 0; p < at->out_height * at->out_width; ++p) {
    const int32_t top = p / at->out_width * at->stride_y - at->pad_top;
    const int32_t left = p % at->out_width * at->stride_x - at->pad_left;
    int32_t first_y, last_y, first_x, last_x;
    ht_inside(top, 1, at->kernel_height, at->height, &first_y, &last_y);
    ht_inside(left, 1, at->kernel_width, at->width, &first_x, &last_x);
    const int32_t skipped = first_x * at->channels;
    const int32_t count = (last_x - first_x) * at->channels;
    const int32_t is_cut = last_y - first_y < at->kernel_height || count < line;
    for (int32_t o = 0; o < at->outputs; ++o) {
      const int8_t *taps = w + o * window;
      uint32_t sum = (uint32_t)bias[o];
      int32_t weights = 0; /* of the taps that the image has */
      for (int32_t ky = first_y; ky < last_y; ++ky) {
        const int32_t pixel = (top + ky) * at->width + left + first_x;
        const int8_t *row = taps + ky * line + skipped;
        sum += ht_dot_i8(x + pixel * at->channels, row, count);
        if (is_cut) weights += ht_sum_i8(row, count);
      }
      if (is_cut) sum += (uint32_t)(zero * (ht_sum_i8(taps, window) - weights));
      *y++ = (int8_t)ht_code((int32_t)sum, how, o);
    }
  }
}
