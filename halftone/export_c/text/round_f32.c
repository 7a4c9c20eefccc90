/* The nearest integer, ties to even. From 2^23 on all numbers are integers. */
static void ht_round_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    if (!(x[i] > -8388608.0f && x[i] < 8388608.0f) || x[i] == 0) continue;
    const float size = x[i] < 0 ? -x[i] : x[i];
    const float shifted = size + 8388608.0f;
    const float rounded = shifted - 8388608.0f;
    x[i] = x[i] < 0 ? -rounded : rounded;
  }
}
