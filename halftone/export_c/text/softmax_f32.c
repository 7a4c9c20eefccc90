/* needs: exp_f32 */
/* Powers of e of each row, divided by their sum: in 16 parts first, each in order, then halves. */
static void ht_softmax_f32(const float *x, int32_t rows, int32_t n, float *y) {
  for (int32_t r = 0; r < rows; ++r, x += n, y += n) {
    float parts[16] = {0};
    float largest = x[0];
    for (int32_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    for (int32_t i = 0; i < n; ++i) {
      y[i] = ht_exp_f32(x[i] - largest);
      parts[i % 16] += y[i];
    }
    for (int32_t half = 8; half != 0; half /= 2) {
      for (int32_t i = 0; i < half; ++i) parts[i] += parts[i + half];
    }
    for (int32_t i = 0; i < n; ++i) y[i] /= parts[0];
  }
}
