/* As ht_encode_sums_packed(), with thresholds as ht_encode_near_2(). */
static void ht_encode_near_packed(const int32_t *sums, const int16_t *firsts, const uint8_t *steps,
                                  const uint32_t *falling, int32_t n, const int8_t *codes,
                                  int32_t bits, uint8_t *y) {
  uint32_t byte = 0;
  int32_t shift = 0;
  for (int32_t o = 0; o < n; ++o, steps += 2) {
    const int32_t sum = sums[o] - firsts[o];
    int32_t level = sum < steps[0] ? sum >= 0 : sum < steps[0] + steps[1] ? 2 : 3;
    if (falling && (falling[o >> 5] >> (o & 31) & 1u) != 0) level = 3 - level;
    byte |= (uint32_t)codes[level] << shift;
    shift += bits;
    if (shift == 8 || o + 1 == n) {
      *y++ = (uint8_t)byte;
      byte = 0;
      shift = 0;
    }
  }
}
