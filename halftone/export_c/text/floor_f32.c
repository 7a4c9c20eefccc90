/* The integer at or below x. From 2^23 on all numbers are integers. */
static void ht_floor_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    if (!(x[i] > -8388608.0f && x[i] < 8388608.0f) || x[i] == 0) continue;
    const float cut = (float)(int32_t)x[i];
    if (cut != x[i]) x[i] = x[i] < cut ? cut - 1.0f : cut;
  }
}
