/* needs: exp_f32 */
/* erf x: x + x P(x^2) near 0, else 1 - e^Q(x) */
static float ht_erf_of(float x) {
  static const float p[6] = {-6.332610501e-4f, 5.054271780e-3f,  -2.680457197e-2f,
                             1.128277034e-1f,  -3.761257529e-1f, 1.283791661e-1f};
  static const float q[7] = {2.036733058e-4f,  -3.117823740e-3f, 2.251894586e-2f, -1.045257300e-1f,
                             -6.365191340e-1f, -1.128060937f,    -1.045472600e-4f};
  if (x != x) return x;
  const float size = x < 0 ? -x : x;
  const float a = size > 4.0f ? 4.0f : size;
  const float y = a < 0.85f ? a + a * ht_polynomial(a * a, p, 6)
                            : 1.0f - ht_exp_f32(ht_polynomial(a, q, 7));
  return x < 0 ? -y : x > 0 ? y : x;
}

static void ht_erf_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = ht_erf_of(x[i]);
}
