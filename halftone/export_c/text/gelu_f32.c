/* needs: exp_parts_f32 times_power_of_two */
/* x times the share of the normal distribution below x. Its tail is e^(-a^2 / 2) P(a) / Q(a); a is
   split, so that the larger part of its square is exact. */
static float ht_gelu_of(float x) {
  static const float p[5] = {2.515075495e-3f, 3.037538379e-2f, 1.536713392e-1f, 3.997922242e-1f,
                             0.5f};
  static const float q[6] = {6.304068957e-3f, 7.615431398e-2f, 3.911943138e-1f,
                             1.081954002f,    1.597467303f,    1.0f};
  if (x != x) return x;
  const float size = x < 0 ? -x : x;
  const float a = size > 15.0f ? 15.0f : size;
  uint32_t bits;
  float high;
  memcpy(&bits, &a, sizeof bits);
  bits &= 0xFFFFF000u;
  memcpy(&high, &bits, sizeof high);
  const float square = -0.5f * (high * high);
  const float rest = -0.5f * ((a - high) * (a + high));
  const float whole = ht_exponent_of(square + rest);
  const int32_t k = (int32_t)whole;
  const float ratio = ht_polynomial(a, p, 5) / ht_polynomial(a, q, 6);
  const float tail = ratio * (ht_exp_less_1(ht_reduced(square, whole) + rest) + 1.0f);
  return x < 0 ? ht_times_power_of_two(-a * tail, k) : x * (1.0f - ht_times_power_of_two(tail, k));
}

static void ht_gelu_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = ht_gelu_of(x[i]);
}
