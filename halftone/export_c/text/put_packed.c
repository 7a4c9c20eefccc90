/* Sets code `at` of packed codes. */
static void ht_put_packed(uint8_t *y, int32_t bits, int32_t at, uint32_t code) {
  const int32_t shift = at * bits & 7;
  const uint32_t mask = (((uint32_t)1 << bits) - 1u) << shift;
  uint8_t *byte = y + (at * bits >> 3);
  *byte = (uint8_t)((*byte & ~mask) | code << shift);
}
