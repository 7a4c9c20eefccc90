/* The number of ones. */
static uint32_t ht_ones(const uint32_t *x, uint32_t words) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < words; ++k) {
    uint32_t v = x[k];
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    v = (v + (v >> 4)) & 0x0F0F0F0Fu;
    v += v >> 8;
    count += (v + (v >> 16)) & 0xFFu;
  }
  return count;
}
