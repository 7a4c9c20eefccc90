/* sums[o] = sum_k x[k] w[o][k], the weights being codes of 4 bits: each row has a table of what they
 * are. w: of each output four words, its table of 16 bytes in the order of the codes, the first in
 * the lowest bits; then of each output, of each eight inputs, a word of their codes. */
static void ht_level_table(const int8_t *x, const uint32_t *w, uint32_t inputs, uint32_t outputs,
                           int32_t *sums) {
  const uint32_t *table = w;
  w += 4u * outputs;
  for (uint32_t o = 0; o < outputs; ++o, table += 4) {
    int8_t levels[16];
    int32_t sum = 0;
    uint32_t k = 0;
    for (uint32_t c = 0; c < 16u; ++c) levels[c] = (int8_t)(table[c / 4u] >> c % 4u * 8u & 0xFFu);
    for (; k + 8u <= inputs; k += 8u, x += 8) {
      const uint32_t codes = *w++;
      sum += x[0] * levels[codes & 15u];
      sum += x[1] * levels[codes >> 4 & 15u];
      sum += x[2] * levels[codes >> 8 & 15u];
      sum += x[3] * levels[codes >> 12 & 15u];
      sum += x[4] * levels[codes >> 16 & 15u];
      sum += x[5] * levels[codes >> 20 & 15u];
      sum += x[6] * levels[codes >> 24 & 15u];
      sum += x[7] * levels[codes >> 28];
    }
    if (k < inputs) {
      for (uint32_t codes = *w++; k < inputs; ++k, codes >>= 4) sum += *x++ * levels[codes & 15u];
    }
    x -= inputs;
    sums[o] = sum;
  }
}
