/* Powers of e of the codes of each row, divided by their sum; powers[d] is that of a code d below
   the largest one. */
static void ht_softmax_i8(const int8_t *x, int32_t rows, int32_t n, const float *powers, float *y) {
  for (int32_t r = 0; r < rows; ++r, x += n, y += n) {
    int8_t largest = x[0];
    for (int32_t i = 1; i < n; ++i) {
      if (x[i] > largest) largest = x[i];
    }
    float sum = 0;
    for (int32_t i = 0; i < n; ++i) sum += powers[largest - x[i]];
    const float factor = 1 / sum;
    for (int32_t i = 0; i < n; ++i) y[i] = powers[largest - x[i]] * factor;
  }
}
