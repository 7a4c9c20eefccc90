/* needs: exp_f32 */
/* Hyperbolic tangents: x + x^3 P(x^2) near 0, else 1 - 2 / (e^2x + 1). */
static float ht_tanh_of(float x) {
  static const float coefficients[5] = {-6.6102277488e-3f, 2.1309388801e-2f, -5.3909428418e-2f,
                                        1.3333113492e-1f, -3.3333331347e-1f};
  if (x != x) return x;
  const float magnitude = x < 0 ? -x : x;
  const float a = magnitude > 10.0f ? 10.0f : magnitude;
  const float z = a * a;
  float y;
  if (a < 0.55f) {
    float sum = coefficients[0];
    for (int32_t i = 1; i < 5; ++i) sum = sum * z + coefficients[i];
    y = a + a * z * sum;
  } else {
    y = 1.0f - 2.0f / (ht_exp_f32(a + a) + 1.0f);
  }
  return x < 0 ? -y : x > 0 ? y : x;
}

static void ht_tanh_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = ht_tanh_of(x[i]);
}
