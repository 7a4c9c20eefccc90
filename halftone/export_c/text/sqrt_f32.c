/* needs: sqrt_f64 */
/* The square root, which float64 rounds as if it had all digits. */
static void ht_sqrt_f32(float *x, int32_t n) {
  static const uint32_t nan = 0x7FC00000u;
  for (int32_t i = 0; i < n; ++i) {
    const double root = ht_sqrt_f64((double)x[i]);
    if (x[i] < 0) {
      memcpy(x + i, &nan, sizeof nan);
    } else {
      x[i] = (float)root;
    }
  }
}
