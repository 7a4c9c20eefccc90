/* needs: prelude */
/* Products of signs, eight of a multiplication: with a bit in each four, the highest four bits of
 *
 *     (x[0] + 2^4 x[1] + ... + 2^28 x[7]) (w[7] + 2^4 w[6] + ... + 2^28 w[0])   modulo 2^32
 *
 * are x[0] w[0] + ... + x[7] w[7]. */

/* sums[c] = sum_k (2 x[k] - 1) (2 w[c][k] - 1) of `columns` columns, a multiple of 4.
 * x: bits of a plane, and their sum, `total`. w: of each four columns two words of the numbers
 * inputs - 2 sum_k w[c][k], 16 bits each, then of each word of x four words: bit 4 i + c of word j
 * is w of the input of bit 4 (7 - i) + j in column c. */
static void ht_signs(const uint32_t *x, uint32_t words, uint32_t total, const uint32_t *w,
                     uint32_t columns, int32_t *sums) {
  const uint32_t mask = ht_in_register(0x11111111u);
  for (; columns != 0; columns -= 4u, sums += 4) {
    uint32_t a = 0, b = 0, c = 0, d = 0;
    const uint32_t first = w[0], second = w[1];
    const uint32_t *const end = x + words;
    const uint32_t *word = x;
    w += 2;
    do {
      const uint32_t eight = *word++;
      uint32_t p = eight & mask, v = w[0];
      a = ht_in_register(a + (p * (v & mask) >> 28));
      b = ht_in_register(b + (p * (v >> 1 & mask) >> 28));
      c = ht_in_register(c + (p * (v >> 2 & mask) >> 28));
      d = ht_in_register(d + (p * (v >> 3 & mask) >> 28));
      p = eight >> 1 & mask;
      v = w[1];
      a = ht_in_register(a + (p * (v & mask) >> 28));
      b = ht_in_register(b + (p * (v >> 1 & mask) >> 28));
      c = ht_in_register(c + (p * (v >> 2 & mask) >> 28));
      d = ht_in_register(d + (p * (v >> 3 & mask) >> 28));
      p = eight >> 2 & mask;
      v = w[2];
      a = ht_in_register(a + (p * (v & mask) >> 28));
      b = ht_in_register(b + (p * (v >> 1 & mask) >> 28));
      c = ht_in_register(c + (p * (v >> 2 & mask) >> 28));
      d = ht_in_register(d + (p * (v >> 3 & mask) >> 28));
      p = eight >> 3 & mask;
      v = w[3];
      a = ht_in_register(a + (p * (v & mask) >> 28));
      b = ht_in_register(b + (p * (v >> 1 & mask) >> 28));
      c = ht_in_register(c + (p * (v >> 2 & mask) >> 28));
      d = ht_in_register(d + (p * (v >> 3 & mask) >> 28));
      w += 4;
    } while (word != end);
    sums[0] = (int16_t)(first & 0xFFFFu) + 4 * (int32_t)a - 2 * (int32_t)total;
    sums[1] = (int16_t)(first >> 16) + 4 * (int32_t)b - 2 * (int32_t)total;
    sums[2] = (int16_t)(second & 0xFFFFu) + 4 * (int32_t)c - 2 * (int32_t)total;
    sums[3] = (int16_t)(second >> 16) + 4 * (int32_t)d - 2 * (int32_t)total;
  }
}
