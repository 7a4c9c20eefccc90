/* Codes of two bits as planes: how many of the three ascending thresholds of an output sums[o]
   reaches, or does not reach where `falling`, if it is not null, has a one. */
static void ht_encode_sums_2(const int32_t *sums, const int16_t *thresholds,
                             const uint32_t *falling, int32_t n, uint32_t *y) {
  const int32_t words = (n + 31) / 32;
  for (int32_t o = 0; o < n; o += 32, ++y) {
    const int32_t some = n - o < 32 ? n - o : 32;
    const uint32_t flips = falling ? *falling++ : 0;
    uint32_t low = 0, high = 0, bit = 1;
    for (int32_t i = 0; i < some; ++i, bit <<= 1, thresholds += 3) {
      const int32_t sum = *sums++;
      if (sum >= thresholds[1]) {
        high |= bit;
        if (sum >= thresholds[2]) low |= bit;
      } else if (sum >= thresholds[0]) {
        low |= bit;
      }
    }
    y[0] = low ^ flips;
    y[words] = high ^ flips;
  }
}
