/* needs: log_f64 */
/* The natural logarithm. */
static void ht_log_f32(float *x, int32_t n) {
  static const uint32_t nan = 0x7FC00000u;
  for (int32_t i = 0; i < n; ++i) {
    if (x[i] < 0) {
      memcpy(x + i, &nan, sizeof nan);
    } else {
      x[i] = (float)ht_log_f64((double)x[i]);
    }
  }
}
