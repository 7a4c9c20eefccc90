/* slope x + shift within 0 and 1 */
static void ht_hard_sigmoid_f32(float *x, int32_t n, float slope, float shift) {
  for (int32_t i = 0; i < n; ++i) {
    const float y = slope * x[i] + shift;
    x[i] = y < 0 ? 0 : y > 1.0f ? 1.0f : y;
  }
}
