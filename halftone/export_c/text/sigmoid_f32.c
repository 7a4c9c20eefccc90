/* needs: exp_f32 */
/* 1 / (1 + e^-x) */
static void ht_sigmoid_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    const float e = ht_exp_f32(x[i] < 0 ? x[i] : -x[i]);
    x[i] = (x[i] < 0 ? e : 1.0f) / (1.0f + e);
  }
}
