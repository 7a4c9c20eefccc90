/* y[o] += sum_k x[k] w[o][k], in the order of the inputs */
static void ht_add_dense_f32(const float *x, int32_t inputs, int32_t outputs, const float *w,
                             float *y) {
  for (int32_t o = 0; o < outputs; ++o) {
    float sum = y[o];
    for (int32_t k = 0; k < inputs; ++k) sum += x[k] * w[o * inputs + k];
    y[o] = sum;
  }
}
