/* As ht_encode_sums_i8(), codes of 1, 2 or 4 bits in bytes. */
static void ht_encode_sums_packed(const int32_t *sums, const int16_t *thresholds,
                                  const uint32_t *falling, int32_t n, int32_t levels,
                                  const int8_t *codes, int32_t bits, uint8_t *y) {
  uint32_t byte = 0;
  int32_t shift = 0;
  for (int32_t o = 0; o < n; ++o, thresholds += levels) {
    int32_t level = 0;
    while (level < levels && sums[o] >= thresholds[level]) ++level;
    if (falling && (falling[o >> 5] >> (o & 31) & 1u) != 0) level = levels - level;
    byte |= (uint32_t)codes[level] << shift;
    shift += bits;
    if (shift == 8 || o + 1 == n) {
      *y++ = (uint8_t)byte;
      byte = 0;
      shift = 0;
    }
  }
}
