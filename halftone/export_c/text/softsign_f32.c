/* x / (1 + |x|) */
static void ht_softsign_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = x[i] / (1.0f + (x[i] < 0 ? -x[i] : x[i]));
}
