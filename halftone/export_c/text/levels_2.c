/* needs: scale_levels multiply_add */
/* sums[o] = sum_k x[k] w[o][k], each row of w with four evenly spaced integers, base + step v.
 * w: of each output base 2^16 + step; then of each HT_CHUNK inputs, of each four outputs, of each
 * four inputs a word: bits 8 q + 2 c and 8 q + 2 c + 16 begin v of the odd and the even input of pair
 * q in output c. */
static void ht_levels_2(const int8_t *x, const uint32_t *w, uint32_t inputs, uint32_t outputs,
                        int32_t *sums) {
  const uint32_t mask = ht_in_register(0x00030003u);
  uint32_t pairs[HT_CHUNK / 2];
  int32_t total = 0;
  const uint32_t *const steps = w;
  w += outputs;
  for (uint32_t o = 0; o < outputs; ++o) sums[o] = 0;
  while (inputs != 0) {
    const uint32_t some = inputs < HT_CHUNK ? inputs : HT_CHUNK;
    ht_pair_inputs(x, some, pairs, &total);
    for (uint32_t o = 0; o < outputs; o += 4u) {
      const uint32_t *pair = pairs;
      const uint32_t *const end = w + (some + 7u) / 8u * 2u;
      uint32_t a = 0x8000u, b = 0x8000u, c = 0x8000u, d = 0x8000u;
      do {
        uint32_t v = w[0];
        uint32_t p = pair[0];
        a = ht_add(a, p, v & mask);
        b = ht_add(b, p, v >> 2 & mask);
        c = ht_add(c, p, v >> 4 & mask);
        d = ht_add(d, p, v >> 6 & mask);
        p = pair[1];
        a = ht_add(a, p, v >> 8 & mask);
        b = ht_add(b, p, v >> 10 & mask);
        c = ht_add(c, p, v >> 12 & mask);
        d = ht_add(d, p, v >> 14 & mask);
        v = w[1];
        p = pair[2];
        a = ht_add(a, p, v & mask);
        b = ht_add(b, p, v >> 2 & mask);
        c = ht_add(c, p, v >> 4 & mask);
        d = ht_add(d, p, v >> 6 & mask);
        p = pair[3];
        a = ht_add(a, p, v >> 8 & mask);
        b = ht_add(b, p, v >> 10 & mask);
        c = ht_add(c, p, v >> 12 & mask);
        d = ht_add(d, p, v >> 14 & mask);
        pair += 4;
        w += 2;
      } while (w != end);
      sums[o] += ht_upper_half(a);
      if (o + 1u < outputs) sums[o + 1u] += ht_upper_half(b);
      if (o + 2u < outputs) sums[o + 2u] += ht_upper_half(c);
      if (o + 3u < outputs) sums[o + 3u] += ht_upper_half(d);
    }
    x += some;
    inputs -= some;
  }
  ht_scale_levels(steps, total, outputs, sums);
}
