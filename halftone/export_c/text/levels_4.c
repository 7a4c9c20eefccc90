/* needs: scale_levels multiply_add */
/* sums[o] = sum_k x[k] w[o][k], each row of w with evenly spaced integers, base + step v, v < 16.
 * w: of each output base 2^16 + step; then of each HT_CHUNK inputs, of each two outputs, of each
 * eight inputs a word of both, an even number of each: bits 4 q and 4 q + 16 begin v of the odd and
 * the even input of pair q. The sums of 16 inputs fit 16 bits. */
static void ht_levels_4(const int8_t *x, const uint32_t *w, uint32_t inputs, uint32_t outputs,
                        int32_t *sums) {
  const uint32_t mask = ht_in_register(0x000F000Fu);
  uint32_t pairs[HT_CHUNK / 2];
  int32_t total = 0;
  const uint32_t *const steps = w;
  w += outputs;
  for (uint32_t o = 0; o < outputs; ++o) sums[o] = 0;
  while (inputs != 0) {
    const uint32_t some = inputs < HT_CHUNK ? inputs : HT_CHUNK;
    ht_pair_inputs(x, some, pairs, &total);
    for (uint32_t o = 0; o < outputs; o += 2u) {
      const uint32_t *pair = pairs;
      const uint32_t *const end = w + (some + 15u) / 16u * 4u;
      int32_t first = 0, second = 0;
      do {
        uint32_t a = 0x8000u, b = 0x8000u;
        uint32_t v = w[0], u = w[1];
        a = ht_add(a, pair[0], v & mask);
        b = ht_add(b, pair[0], u & mask);
        a = ht_add(a, pair[1], v >> 4 & mask);
        b = ht_add(b, pair[1], u >> 4 & mask);
        a = ht_add(a, pair[2], v >> 8 & mask);
        b = ht_add(b, pair[2], u >> 8 & mask);
        a = ht_add(a, pair[3], v >> 12 & mask);
        b = ht_add(b, pair[3], u >> 12 & mask);
        v = w[2];
        u = w[3];
        a = ht_add(a, pair[4], v & mask);
        b = ht_add(b, pair[4], u & mask);
        a = ht_add(a, pair[5], v >> 4 & mask);
        b = ht_add(b, pair[5], u >> 4 & mask);
        a = ht_add(a, pair[6], v >> 8 & mask);
        b = ht_add(b, pair[6], u >> 8 & mask);
        a = ht_add(a, pair[7], v >> 12 & mask);
        b = ht_add(b, pair[7], u >> 12 & mask);
        first += ht_upper_half(a);
        second += ht_upper_half(b);
        pair += 8;
        w += 4;
      } while (w != end);
      sums[o] += first;
      if (o + 1u < outputs) sums[o + 1u] += second;
    }
    x += some;
    inputs -= some;
  }
  ht_scale_levels(steps, total, outputs, sums);
}
