/* needs: lanes_f64 */
/* Sums of the powers of x over the axis in the middle, divided by `count`. */
static void ht_sums_f32(const float *x, int32_t outer, int32_t extent, int32_t inner, int32_t power,
                        double count, float *y) {
  for (int32_t line = 0; line < outer * inner; ++line) {
    const float *from = x + line / inner * extent * inner + line % inner;
    *y++ = (float)(ht_lanes_f64(from, extent, inner, 0, power) / count);
  }
}
