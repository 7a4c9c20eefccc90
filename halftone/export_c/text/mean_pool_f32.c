/* needs: inside */
/* The mean of each window and channel in float64; with `counts_padding`, zeros around the image
   count. */
static void ht_mean_pool_f32(const float *x, const ht_window *at, int32_t counts_padding,
                             float *y) {
  for (int32_t p = 0; p < at->out_height * at->out_width; ++p) {
    const int32_t top = p / at->out_width * at->stride_y - at->pad_top;
    const int32_t left = p % at->out_width * at->stride_x - at->pad_left;
    int32_t first_y, last_y, first_x, last_x;
    ht_inside(top, at->dilation_y, at->kernel_height, at->height, &first_y, &last_y);
    ht_inside(left, at->dilation_x, at->kernel_width, at->width, &first_x, &last_x);
    const int32_t inside = (last_y - first_y) * (last_x - first_x);
    const int32_t taps = counts_padding ? at->kernel_height * at->kernel_width : inside;
    for (int32_t c = 0; c < at->channels; ++c) {
      double sum = 0;
      for (int32_t ky = first_y; ky < last_y; ++ky) {
        for (int32_t kx = first_x; kx < last_x; ++kx) {
          const int32_t pixel =
              (top + ky * at->dilation_y) * at->width + left + kx * at->dilation_x;
          sum += (double)x[pixel * at->channels + c];
        }
      }
      *y++ = (float)(sum / (double)(taps > 0 ? taps : 1));
    }
  }
}
