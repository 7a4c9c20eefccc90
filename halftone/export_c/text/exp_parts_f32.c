/* Parts of e^x = 2^k e^r with k = round(x log2(e)) and r = x - k ln 2, of which ln 2 is in two parts;
   e^r - 1 is r + r^2 P(r). Each operation is rounded by itself, so that the bits are the same
   everywhere. */
static float ht_polynomial(float x, const float *coefficients, int32_t count) {
  float sum = coefficients[0];
  for (int32_t i = 1; i < count; ++i) sum = sum * x + coefficients[i];
  return sum;
}

static float ht_exponent_of(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;
  return shifted - 12582912.0f;
}

static float ht_reduced(float x, float whole) {
  const float high = x - whole * 0.693359375f;
  return high - whole * -2.12194440e-4f;
}

static float ht_exp_less_1(float r) {
  static const float coefficients[5] = {1.3926250394e-3f, 8.3632329479e-3f, 4.1666552424e-2f,
                                        1.6666576266e-1f, 0.5f};
  return ht_polynomial(r, coefficients, 5) * (r * r) + r;
}
