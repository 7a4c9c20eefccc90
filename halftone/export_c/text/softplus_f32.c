/* needs: exp_f32 */
/* log(1 + e^x) = max(x, 0) + log(1 + t) with t = e^-|x| */
static void ht_softplus_f32(float *x, int32_t n) {
  static const float p[9] = {3.868146334e-3f,  -2.270654216e-2f, 6.241425499e-2f,
                             -1.116718352e-1f, 1.564595252e-1f,  -1.979707778e-1f,
                             2.497840077e-1f,  -3.333238959e-1f, 0.5f};
  for (int32_t i = 0; i < n; ++i) {
    const float t = ht_exp_f32(x[i] < 0 ? x[i] : -x[i]);
    if (x[i] == x[i]) x[i] = (x[i] > 0 ? x[i] : 0) + (t - (t * t) * ht_polynomial(t, p, 9));
  }
}
