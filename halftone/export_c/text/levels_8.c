/* sums[o] = 2 sum_k x[k] w[o][k] + odd sum_k x[k], weights of a byte, [outputs][inputs]: levels of
   more bits than the other kernels take. */
static void ht_levels_8(const int8_t *x, const int8_t *w, int32_t inputs, int32_t outputs,
                        int32_t odd, int32_t *sums) {
  for (int32_t o = 0; o < outputs; ++o, w += inputs) {
    int32_t product = 0, total = 0;
    for (int32_t k = 0; k < inputs; ++k) {
      product += x[k] * w[k];
      total += x[k];
    }
    sums[o] = 2 * product + odd * total;
  }
}
