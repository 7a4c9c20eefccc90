/* A row as integers up to 127 and a scale, which is returned: rounded to nearest, ties to even. A row
   of zeros has the scale 0, one with an infinity or NaN the scale NaN and zeros. */
static float ht_quantize_row_f32(const float *x, int32_t n, int8_t *q) {
  uint32_t bits = 0; /* of the largest magnitude: they have its order */
  float largest;
  for (int32_t i = 0; i < n; ++i) {
    uint32_t each;
    memcpy(&each, x + i, sizeof each);
    each &= 0x7FFFFFFFu;
    if (each > bits) bits = each;
    q[i] = 0;
  }
  memcpy(&largest, &bits, sizeof largest);
  if (bits >= 0x7F800000u) return largest - largest;
  const float steps = largest > 0 ? 127.0f / largest : 0;
  if (steps == 0 || steps > 3.402823466e38f) return 0;
  for (int32_t i = 0; i < n; ++i) {
    const float shifted = x[i] * steps + 12582912.0f;
    q[i] = (int8_t)(int32_t)(shifted - 12582912.0f);
  }
  return largest / 127.0f;
}
