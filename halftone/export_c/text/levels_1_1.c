/* needs: columns_1 */
/* sums[o] = sum_k x[k] w[o][k], each row of w with four integers, the sums of +-step / 2 and
 * +-other / 2.
 * w: of each output other 2^16 + step; then as in ht_levels_1() the words of two outputs: columns of
 * the bits of step and of other. */
static void ht_levels_1_1(const int8_t *x, const uint32_t *w, uint32_t inputs, uint32_t outputs,
                          int32_t *sums) {
  uint32_t pairs[HT_CHUNK / 2];
  const uint32_t *const steps = w;
  w += outputs;
  for (uint32_t o = 0; o < outputs; ++o) sums[o] = 0;
  while (inputs != 0) {
    const uint32_t some = inputs < HT_CHUNK ? inputs : HT_CHUNK;
    const uint32_t words = (some + 7u) / 8u;
    int32_t total = 0;
    ht_pair_inputs(x, some, pairs, &total);
    for (uint32_t o = 0; o < outputs; o += 2u, w += words) {
      int32_t columns[4];
      ht_four_columns_1(pairs, w, words, columns);
      for (uint32_t i = 0; i < 2u && o + i < outputs; ++i) {
        const int32_t step = (int16_t)(steps[o + i] & 0xFFFFu);
        const int32_t other = ht_upper_half(steps[o + i]);
        sums[o + i] += step * columns[2u * i] + other * columns[2u * i + 1u];
        sums[o + i] -= (step + other) / 2 * total;
      }
    }
    x += some;
    inputs -= some;
  }
}
