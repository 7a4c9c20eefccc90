/* needs: columns_1 scale_levels */
/* sums[o] = sum_k x[k] w[o][k], each row of w with two integers, base and base + step.
 * w: of each output base 2^16 + step; then of each HT_CHUNK inputs, of each four outputs, their
 * words. */
static void ht_levels_1(const int8_t *x, const uint32_t *w, uint32_t inputs, uint32_t outputs,
                        int32_t *sums) {
  uint32_t pairs[HT_CHUNK / 2];
  int32_t total = 0;
  const uint32_t *const steps = w;
  w += outputs;
  for (uint32_t o = 0; o < outputs; ++o) sums[o] = 0;
  while (inputs != 0) {
    const uint32_t some = inputs < HT_CHUNK ? inputs : HT_CHUNK;
    const uint32_t words = (some + 7u) / 8u;
    ht_pair_inputs(x, some, pairs, &total);
    for (uint32_t o = 0; o < outputs; o += 4u, w += words) {
      int32_t columns[4];
      ht_four_columns_1(pairs, w, words, columns);
      for (uint32_t i = 0; i < 4u && o + i < outputs; ++i) sums[o + i] += columns[i];
    }
    x += some;
    inputs -= some;
  }
  ht_scale_levels(steps, total, outputs, sums);
}
