/* Fully connected in float32: terms in the order of the inputs, behind the bias. */
static void ht_dense_f32(const float *x, int32_t rows, int32_t inputs, int32_t outputs,
                         const float *w, const float *bias, float *y) {
  for (int32_t r = 0; r < rows; ++r, x += inputs) {
    for (int32_t o = 0; o < outputs; ++o) {
      float sum = bias[o];
      for (int32_t k = 0; k < inputs; ++k) sum += x[k] * w[o * inputs + k];
      *y++ = sum;
    }
  }
}
