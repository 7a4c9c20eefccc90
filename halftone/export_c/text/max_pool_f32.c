/* needs: inside */
/* The largest number of each window and channel; padding is ignored, of padding alone it is
   -infinity. */
static void ht_max_pool_f32(const float *x, const ht_window *at, float *y) {
  for (int32_t p = 0; p < at->out_height * at->out_width; ++p) {
    const int32_t top = p / at->out_width * at->stride_y - at->pad_top;
    const int32_t left = p % at->out_width * at->stride_x - at->pad_left;
    int32_t first_y, last_y, first_x, last_x;
    ht_inside(top, at->dilation_y, at->kernel_height, at->height, &first_y, &last_y);
    ht_inside(left, at->dilation_x, at->kernel_width, at->width, &first_x, &last_x);
    const int32_t is_empty = first_y == last_y || first_x == last_x;
    const int32_t corner =
        (top + first_y * at->dilation_y) * at->width + left + first_x * at->dilation_x;
    for (int32_t c = 0; c < at->channels; ++c) {
      float largest = is_empty ? -(1.0f / 0.0f) : x[corner * at->channels + c];
      for (int32_t ky = first_y; ky < last_y; ++ky) {
        for (int32_t kx = first_x; kx < last_x; ++kx) {
          const int32_t pixel =
              (top + ky * at->dilation_y) * at->width + left + kx * at->dilation_x;
          const float number = x[pixel * at->channels + c];
          if (number > largest) largest = number;
        }
      }
      *y++ = largest;
    }
  }
}
