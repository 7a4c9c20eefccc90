/* Bits of sums: whether sums[o] is thresholds[o] or more; the other way round where `falling`, if it
   is not null, has a one. */
static void ht_encode_sums_1(const int32_t *sums, const int16_t *thresholds,
                             const uint32_t *falling, int32_t n, uint32_t *y) {
  for (int32_t o = 0; o < n; o += 32) {
    const int32_t some = n - o < 32 ? n - o : 32;
    uint32_t word = falling ? *falling++ : 0;
    for (int32_t i = 0; i < some; ++i) {
      if (*sums++ >= *thresholds++) word ^= (uint32_t)1 << i;
    }
    *y++ = word;
  }
}
