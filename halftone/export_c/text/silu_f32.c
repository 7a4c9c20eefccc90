/* needs: times_sigmoid_f32 */
/* x / (1 + e^-x) */
static void ht_silu_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    const float size = x[i] < 0 ? -x[i] : x[i];
    const float a = size > 110.0f ? 110.0f : size;
    if (x[i] == x[i]) x[i] = ht_times_sigmoid_f32(x[i], a, a);
  }
}
