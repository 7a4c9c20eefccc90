/* needs: dot_i8 dot_four_i8 four_codes */
/* Fully connected: y[r][o] = code of bias[o] + sum_k x[r][k] w[o][k]. The zero point of x is part of
   the bias. */
static void ht_dense_i8(const int8_t *x, int32_t rows, int32_t inputs, int32_t outputs,
                        const int8_t *w, const int32_t *bias, const ht_codes *how, int8_t *y) {
  for (int32_t r = 0; r < rows; ++r, x += inputs) {
    const int32_t fours = outputs - outputs % 4;
    int32_t o = 0;
    for (; o < fours; o += 4) {
      uint32_t sums[4];
      for (int32_t i = 0; i < 4; ++i) sums[i] = (uint32_t)bias[o + i];
      ht_dot_four_i8(x, w + o * inputs, inputs, inputs, sums);
      ht_four_codes(sums, how, o, y);
      y += 4;
    }
    for (; o < outputs; ++o) {
      const uint32_t sum = (uint32_t)bias[o] + ht_dot_i8(x, w + o * inputs, inputs);
      *y++ = (int8_t)ht_code((int32_t)sum, how, o);
    }
  }
}
