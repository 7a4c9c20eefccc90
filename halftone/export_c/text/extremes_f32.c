/* The largest number over the axis in the middle for sign = 1, the smallest for -1. */
static void ht_extremes_f32(const float *x, int32_t outer, int32_t extent, int32_t inner,
                            float sign, float *y) {
  for (int32_t line = 0; line < outer * inner; ++line) {
    const float *from = x + line / inner * extent * inner + line % inner;
    float best = *from;
    for (int32_t k = 1; k < extent; ++k) {
      if (sign * from[k * inner] > sign * best) best = from[k * inner];
    }
    *y++ = best;
  }
}
