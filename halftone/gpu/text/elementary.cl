// kernels/activation/math_reference.h and the references of activation.h, operation by operation.
// The constants and polynomials, in capitals, are those of math_constants.h.
FUNC float power_of_two(int k) { return FLOAT_OF((uint)(k + 127) << 23); }
FUNC float times_power_of_two(float y, int k) {
  return (y * power_of_two(k >> 1)) * power_of_two(k - (k >> 1));
}
FUNC float exponent_of(float x) { return (x * LOG2_E + ROUND_MAGIC) - ROUND_MAGIC; }
FUNC float reduced(float x, float whole) { return (x - whole * LN2_HIGH) - whole * LN2_LOW; }
FUNC float reduced_exp_minus_1(float r) { return POLYNOMIAL_EXP(r) * (r * r) + r; }
FUNC float capped_magnitude(float x, float high) {
  return MAGNITUDE(x) > high ? high : MAGNITUDE(x);
}
FUNC float with_sign_of(float y, float x) {
  return FLOAT_OF((BITS_OF(y) & 0x7FFFFFFFu) | (BITS_OF(x) & 0x80000000u));
}
FUNC float times_sigmoid(float x, float a, float v) {
  float whole = exponent_of(-v);
  int k = (int)whole;
  float m = reduced_exp_minus_1(reduced(-v, whole)) + 1.0f;
  return divided(x < 0 ? times_power_of_two(-a * m, k) : x, 1.0f + times_power_of_two(m, k));
}

FUNC float exp_of(float x) {
  if (is_nan(x)) return QUIET_NAN;
  x = x < EXP_LOW ? EXP_LOW : x > EXP_HIGH ? EXP_HIGH : x;
  float whole = exponent_of(x);
  return times_power_of_two(reduced_exp_minus_1(reduced(x, whole)) + 1.0f, (int)whole);
}
FUNC float sigmoid_of(float x) {
  if (is_nan(x)) return QUIET_NAN;
  float e = exp_of(-MAGNITUDE(x));
  return divided(x < 0 ? e : 1.0f, 1.0f + e);
}
FUNC float tanh_of(float x) {
  if (is_nan(x)) return QUIET_NAN;
  float a = capped_magnitude(x, TANH_HIGH);
  float z = a * a;
  float y = a < TANH_SPLIT ? a + (a * z) * POLYNOMIAL_TANH(z)
                           : 1.0f - divided(2.0f, exp_of(a + a) + 1.0f);
  return with_sign_of(y, x);
}
FUNC float silu_of(float x) {
  if (is_nan(x)) return QUIET_NAN;
  float a = capped_magnitude(x, SILU_HIGH);
  return times_sigmoid(x, a, a);
}
FUNC float gelu_of(float x) {
  if (is_nan(x)) return QUIET_NAN;
  float a = capped_magnitude(x, GELU_HIGH);
  float high = FLOAT_OF(BITS_OF(a) & HIGH_DIGITS);
  float square = -0.5f * (high * high);
  float rest = -0.5f * ((a - high) * (a + high));
  float whole = exponent_of(square + rest);
  int k = (int)whole;
  float ratio = divided(POLYNOMIAL_TAIL_P(a), POLYNOMIAL_TAIL_Q(a));
  float e = reduced_exp_minus_1(reduced(square, whole) + rest) + 1.0f;
  float tail = ratio * e;
  return x < 0 ? times_power_of_two(-a * tail, k) : x * (1.0f - times_power_of_two(tail, k));
}
FUNC float gelu_tanh_of(float x) {
  if (is_nan(x)) return QUIET_NAN;
  float a = capped_magnitude(x, GELU_TANH_HIGH);
  return times_sigmoid(x, a, a * (GELU_TANH_LINEAR + GELU_TANH_CUBIC * (a * a)));
}
FUNC float relu_of(float x) { return x < 0 ? 0.0f : x; }
