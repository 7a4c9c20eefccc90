/* Along the axis in the middle each output is a sum of `width` weighted elements, or, where the first
   index is negative, a constant. */
static void ht_resize_f32(const float *x, int32_t outer, int32_t extent, int32_t inner,
                          int32_t count, int32_t width, const int16_t *indices,
                          const float *weights, float outside, float *y) {
  for (int32_t row = 0; row < outer * count; ++row) {
    const float *from = x + row / count * extent * inner;
    const int16_t *at = indices + row % count * width;
    const float *w = weights + row % count * width;
    for (int32_t c = 0; c < inner; ++c) {
      double sum = 0;
      for (int32_t t = 0; t < width && at[0] >= 0; ++t) {
        sum += (double)w[t] * (double)from[at[t] * inner + c];
      }
      *y++ = at[0] < 0 ? outside : (float)sum;
    }
  }
}
