/* needs: inside decode_row_f32 */
/* A convolution in float32 like ht_conv_f32() whose weights are decoded output by output to
   `weights`. */
static void ht_conv_codes_f32(const float *x, const ht_window *at, int32_t groups,
                              const ht_code_rows *w, const float *bias, float *levels,
                              float *weights, float *y) {
  const int32_t channels = at->channels / groups;
  for (int32_t o = 0; o < at->outputs; ++o) {
    const int32_t first_channel = o / (at->outputs / groups) * channels;
    ht_decode_row_f32(w, o, levels, weights);
    for (int32_t p = 0; p < at->out_height * at->out_width; ++p) {
      const int32_t top = p / at->out_width * at->stride_y - at->pad_top;
      const int32_t left = p % at->out_width * at->stride_x - at->pad_left;
      int32_t first_y, last_y, first_x, last_x;
      float sum = bias[o];
      ht_inside(top, at->dilation_y, at->kernel_height, at->height, &first_y, &last_y);
      ht_inside(left, at->dilation_x, at->kernel_width, at->width, &first_x, &last_x);
      for (int32_t ky = first_y; ky < last_y; ++ky) {
        const int32_t row = (top + ky * at->dilation_y) * at->width + left;
        for (int32_t kx = first_x; kx < last_x; ++kx) {
          const float *pixel = x + (row + kx * at->dilation_x) * at->channels + first_channel;
          const float *tap = weights + (ky * at->kernel_width + kx) * channels;
          for (int32_t c = 0; c < channels; ++c) sum += pixel[c] * tap[c];
        }
      }
      y[p * at->outputs + o] = sum;
    }
  }
}
