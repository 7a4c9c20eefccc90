/* x times x + 3 within 0 and 6, divided by 6 */
static void ht_hard_swish_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    const float z = x[i] < -3.0f ? -3.0f : x[i];
    const float sum = z + 3.0f;
    x[i] = z * ((sum < 0 ? 0 : sum > 6.0f ? 6.0f : sum) * (1.0f / 6.0f));
  }
}
