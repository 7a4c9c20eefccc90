/* As ht_encode_sums_2(), where the thresholds of an output are firsts[o] and this plus one and both of
   its two steps. */
static void ht_encode_near_2(const int32_t *sums, const int16_t *firsts, const uint8_t *steps,
                             const uint32_t *falling, int32_t n, uint32_t *y) {
  const int32_t words = (n + 31) / 32;
  for (int32_t o = 0; o < n; o += 32, ++y) {
    const int32_t some = n - o < 32 ? n - o : 32;
    const uint32_t flips = falling ? *falling++ : 0;
    uint32_t low = 0, high = 0, bit = 1;
    for (int32_t i = 0; i < some; ++i, bit <<= 1, steps += 2) {
      const int32_t sum = *sums++ - *firsts++;
      if (sum >= steps[0]) {
        high |= bit;
        if (sum >= steps[0] + steps[1]) low |= bit;
      } else if (sum >= 0) {
        low |= bit;
      }
    }
    y[0] = low ^ flips;
    y[words] = high ^ flips;
  }
}
