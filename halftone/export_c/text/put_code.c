/* Sets code `at` of bit planes. */
static void ht_put_code(uint32_t *y, int32_t n, int32_t planes, int32_t at, uint32_t code) {
  const uint32_t bit = (uint32_t)1 << (at & 31);
  for (int32_t p = 0; p < planes; ++p) {
    uint32_t *word = y + p * ((n + 31) / 32) + (at >> 5);
    *word = code >> p & 1u ? *word | bit : *word & ~bit;
  }
}
