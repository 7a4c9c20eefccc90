/* needs: window */
/* A transposed convolution: the products of each pixel of x, summed over channels, are added to the
   outputs that they reach, behind the bias. The window is that of an image y on which x lies. */
static void ht_conv_transpose_f32(const float *x, const ht_window *at, int32_t groups,
                                  const float *w, const float *bias, float *y) {
  const int32_t channels = at->channels / groups;
  const int32_t taps = at->kernel_height * at->kernel_width;
  for (int32_t i = 0; i < at->out_height * at->out_width * at->outputs; ++i) {
    y[i] = bias[i % at->outputs];
  }
  for (int32_t q = 0; q < at->height * at->width; ++q, x += at->channels) {
    for (int32_t t = 0; t < taps; ++t) {
      const int32_t row = q / at->width * at->stride_y - at->pad_top +
                          t / at->kernel_width * at->dilation_y;
      const int32_t column = q % at->width * at->stride_x - at->pad_left +
                             t % at->kernel_width * at->dilation_x;
      if (row < 0 || row >= at->out_height || column < 0 || column >= at->out_width) continue;
      float *pixel = y + (row * at->out_width + column) * at->outputs;
      for (int32_t o = 0; o < at->outputs; ++o) {
        const float *from = x + o / (at->outputs / groups) * channels;
        const float *tap = w + (o * taps + t) * channels;
        float sum = 0;
        for (int32_t c = 0; c < channels; ++c) sum += from[c] * tap[c];
        pixel[o] += sum;
      }
    }
  }
}
