/* e^x = 2^k e^r with k = round(x log2(e)) and r = x - k ln 2, of which ln 2 is in two parts; e^r - 1
   is r + r^2 P(r). Each operation is rounded by itself, so that the bits are the same everywhere. */
static float ht_power_of_two(int32_t k) {
  const uint32_t bits = (uint32_t)(k + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

static float ht_exp_f32(float x) {
  static const float coefficients[5] = {1.3926250394e-3f, 8.3632329479e-3f, 4.1666552424e-2f,
                                        1.6666576266e-1f, 0.5f};
  if (x != x) return x;
  x = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float whole = shifted - 12582912.0f;
  const float high = x - whole * 0.693359375f;
  const float r = high - whole * -2.12194440e-4f;
  float sum = coefficients[0];
  for (int32_t i = 1; i < 5; ++i) sum = sum * r + coefficients[i];
  const float y = sum * (r * r) + r + 1.0f;
  const int32_t k = (int32_t)whole;
  const int32_t half = k >= 0 ? k / 2 : -((1 - k) / 2);
  return y * ht_power_of_two(half) * ht_power_of_two(k - half);
}
