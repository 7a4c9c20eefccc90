/* needs: times_sigmoid_f32 */
/* x (1 + tanh(v)) / 2 with v = sqrt(2 / pi) (x + 0.044715 x^3) */
static void ht_gelu_tanh_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    const float size = x[i] < 0 ? -x[i] : x[i];
    const float a = size > 11.5f ? 11.5f : size;
    const float v = a * (1.595769122f + 7.135481283e-2f * (a * a));
    if (x[i] == x[i]) x[i] = ht_times_sigmoid_f32(x[i], a, v);
  }
}
