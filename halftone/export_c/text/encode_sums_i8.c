/* Codes of a byte: codes[l], where sums[o] reaches l of the ascending thresholds of an output, or
   does not reach where `falling`, if it is not null, has a one. */
static void ht_encode_sums_i8(const int32_t *sums, const int16_t *thresholds,
                              const uint32_t *falling, int32_t n, int32_t levels,
                              const int8_t *codes, int8_t *y) {
  for (int32_t o = 0; o < n; ++o, thresholds += levels) {
    int32_t level = 0;
    while (level < levels && sums[o] >= thresholds[level]) ++level;
    if (falling && (falling[o >> 5] >> (o & 31) & 1u) != 0) level = levels - level;
    y[o] = codes[level];
  }
}
