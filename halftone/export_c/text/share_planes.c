/* Writes the bit planes of pixel p, a word each, where planes of few channels share words. */
static void ht_share_planes(const uint32_t *planes, uint32_t count, uint32_t channels, uint32_t p,
                            uint32_t *y) {
  const uint32_t mask = ((uint32_t)1 << channels) - 1u;
  uint32_t at = p * count * channels;
  for (uint32_t i = 0; i < count; ++i, at += channels) {
    uint32_t *word = y + (at >> 5);
    *word = (*word & ~(mask << (at & 31u))) | planes[i] << (at & 31u);
  }
}
