/* needs: levels multiply_add */
/* Four columns of weights of a bit. A word has eight inputs: bit 4 q + c and bit 4 q + c + 16 are the
 * odd and the even input of pair q in column c. */
static inline void ht_four_columns_1(const uint32_t *pairs, const uint32_t *w, uint32_t words,
                                     int32_t *sums) {
  const uint32_t mask = ht_in_register(0x00010001u);
  const uint32_t *const end = w + words;
  uint32_t a = 0x8000u, b = 0x8000u, c = 0x8000u, d = 0x8000u;
  do {
    const uint32_t v = *w++;
    uint32_t p = pairs[0];
    a = ht_add(a, p, v & mask);
    b = ht_add(b, p, v >> 1 & mask);
    c = ht_add(c, p, v >> 2 & mask);
    d = ht_add(d, p, v >> 3 & mask);
    p = pairs[1];
    a = ht_add(a, p, v >> 4 & mask);
    b = ht_add(b, p, v >> 5 & mask);
    c = ht_add(c, p, v >> 6 & mask);
    d = ht_add(d, p, v >> 7 & mask);
    p = pairs[2];
    a = ht_add(a, p, v >> 8 & mask);
    b = ht_add(b, p, v >> 9 & mask);
    c = ht_add(c, p, v >> 10 & mask);
    d = ht_add(d, p, v >> 11 & mask);
    p = pairs[3];
    a = ht_add(a, p, v >> 12 & mask);
    b = ht_add(b, p, v >> 13 & mask);
    c = ht_add(c, p, v >> 14 & mask);
    d = ht_add(d, p, v >> 15 & mask);
    pairs += 4;
  } while (w != end);
  sums[0] = ht_upper_half(a);
  sums[1] = ht_upper_half(b);
  sums[2] = ht_upper_half(c);
  sums[3] = ht_upper_half(d);
}
