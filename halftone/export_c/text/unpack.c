/* Levels of n codes of 1, 2 or 4 bits. */
static void ht_unpack(const uint8_t *x, int32_t n, int32_t bits, const int8_t *levels, int8_t *y) {
  const uint32_t mask = ((uint32_t)1 << bits) - 1u;
  for (; n > 0; n -= 8 / bits) {
    uint32_t byte = *x++;
    for (int32_t i = 0; i < 8 / bits && i < n; ++i, byte >>= bits) *y++ = levels[byte & mask];
  }
}
