/* needs: levels */
/* sums[o] = step sums[o] + base total; of each output `steps` has base 2^16 + step. */
static void ht_scale_levels(const uint32_t *steps, int32_t total, uint32_t outputs, int32_t *sums) {
  for (uint32_t o = 0; o < outputs; ++o) {
    const int32_t step = (int16_t)(steps[o] & 0xFFFFu);
    sums[o] = step * sums[o] + ht_upper_half(steps[o]) * total;
  }
}
