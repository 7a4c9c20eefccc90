/* needs: bytes sum_i8 */
/* sums[o] = 2 sum_k x[k] w[o][k] + odd sum_k x[k] of weights as ht_bytes() reads them: levels of more
   bits than the other kernels take. */
static void ht_levels_8(const int8_t *x, const uint32_t *w, uint32_t inputs, uint32_t outputs,
                        int32_t odd, int32_t *sums) {
  const int32_t total = odd * ht_sum_i8(x, (int32_t)inputs);
  ht_bytes(x, w, inputs, outputs, sums);
  for (uint32_t o = 0; o < outputs; ++o) sums[o] = 2 * sums[o] + total;
}
