/* needs: prelude */
/* Inputs as digits multiple[0] bit[0] + multiple[1] bit[1] of two bit planes, four in a word:
 * word 8 k + i has inputs 32 k + i, + 8, + 16, + 24. Returns their sum. */
static uint32_t ht_digits(const uint32_t *first, const uint32_t *second, uint32_t words,
                          const int8_t *multiples, uint32_t *digits) {
  const uint32_t mask = ht_in_register(0x01010101u);
  const uint32_t of_first = (uint32_t)multiples[0], of_second = (uint32_t)multiples[1];
  uint32_t total = 0;
  for (uint32_t k = 0; k < words; ++k) {
    uint32_t a = first[k], b = second[k], sums = 0;
    for (uint32_t i = 0; i < 8u; ++i, a >>= 1, b >>= 1) {
      const uint32_t four = (a & mask) * of_first + (b & mask) * of_second;
      *digits++ = four;
      sums += four;
    }
    sums = (sums & 0x00FF00FFu) + (sums >> 8 & 0x00FF00FFu);
    total += (sums & 0xFFFFu) + (sums >> 16);
  }
  return total;
}
