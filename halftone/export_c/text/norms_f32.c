/* needs: lanes_f64 sqrt_f64 */
/* The square root of the sum of x x over the axis in the middle. */
static void ht_norms_f32(const float *x, int32_t outer, int32_t extent, int32_t inner, float *y) {
  for (int32_t line = 0; line < outer * inner; ++line) {
    const float *from = x + line / inner * extent * inner + line % inner;
    *y++ = (float)ht_sqrt_f64(ht_lanes_f64(from, extent, inner, 0, 2));
  }
}
