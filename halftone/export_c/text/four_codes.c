/* needs: requantize */
/* The codes of the sums of outputs o to o + 3. */
static void ht_four_codes(const uint32_t *sums, const ht_codes *how, int32_t o, int8_t *y) {
  const ht_codes codes = *how;
  for (int32_t i = 0; i < 4; ++i) y[i] = (int8_t)ht_code((int32_t)sums[i], &codes, o + i);
}
