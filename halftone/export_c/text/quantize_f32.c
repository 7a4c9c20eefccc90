/* x to the nearest integer, ties to even, or away from zero; of magnitudes from 2^22 on, any. */
static float ht_nearest(float x, int32_t half_away) {
  const float magnitude = x < 0 ? -x : x;
  if (!(magnitude < 4194304.0f)) return x;
  float whole = (float)(int32_t)magnitude;
  const float rest = magnitude - whole;
  const int32_t is_odd = (int32_t)whole & 1;
  if (rest > 0.5f || (rest == 0.5f && (half_away || is_odd))) whole += 1;
  return x < 0 ? -whole : whole;
}

/* y = code of round(x / scale) + zero; 0 for NaN */
static void ht_quantize_f32(const float *x, int32_t n, float scale, int32_t zero, int32_t half_away,
                            int8_t *y) {
  for (int32_t i = 0; i < n; ++i) {
    const float code = ht_nearest(x[i] / scale, half_away) + (float)zero;
    y[i] = (int8_t)(code < -128.0f ? -128.0f : code > 127.0f ? 127.0f : code == code ? code : 0.0f);
  }
}
