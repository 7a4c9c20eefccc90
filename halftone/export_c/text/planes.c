/* needs: digits multiply_add */
/* Products of inputs of few bits and weights of a bit, four of a multiplication: the highest byte of
 *
 *     (x[0] + 2^8 x[1] + 2^16 x[2] + 2^24 x[3]) (w[3] + 2^8 w[2] + 2^16 w[1] + 2^24 w[0])
 *
 * modulo 2^32 is x[0] w[0] + ... + x[3] w[3], and stays it for sums of such products while it is below
 * 256. */

/* sums[c] = sum_k (2 x[k] - reach) (2 w[c][k] - 1) of `columns` columns, a multiple of 4.
 * x: digits of ht_digits(), `words` planes' words, at most reach <= 7, and their sum, `total`.
 * w: of each four columns two words of the numbers inputs - 2 sum_k w[c][k], 16 bits each, then of
 * each two words of x a word: bits 8 i + c and 8 i + c + 4 are w of input 3 - i of the first and of
 * the second in column c. */
static void ht_planes(const uint32_t *x, uint32_t words, uint32_t reach, uint32_t total,
                      const uint32_t *w, uint32_t columns, int32_t *sums) {
  const uint32_t mask = ht_in_register(0x01010101u);
  const uint32_t *const end = x + 8u * words;
  for (; columns != 0; columns -= 4u, sums += 4) {
    const uint32_t *const ones = w;
    const uint32_t *four = x;
    uint32_t first = 0, second = 0, third = 0, fourth = 0;
    w += 2;
    do {
      uint32_t a = 0, b = 0, c = 0, d = 0;
      uint32_t v = w[0], p = four[0];
      a = ht_add(a, p, v & mask);
      b = ht_add(b, p, v >> 1 & mask);
      c = ht_add(c, p, v >> 2 & mask);
      d = ht_add(d, p, v >> 3 & mask);
      p = four[1];
      a = ht_add(a, p, v >> 4 & mask);
      b = ht_add(b, p, v >> 5 & mask);
      c = ht_add(c, p, v >> 6 & mask);
      d = ht_add(d, p, v >> 7 & mask);
      v = w[1];
      p = four[2];
      a = ht_add(a, p, v & mask);
      b = ht_add(b, p, v >> 1 & mask);
      c = ht_add(c, p, v >> 2 & mask);
      d = ht_add(d, p, v >> 3 & mask);
      p = four[3];
      a = ht_add(a, p, v >> 4 & mask);
      b = ht_add(b, p, v >> 5 & mask);
      c = ht_add(c, p, v >> 6 & mask);
      d = ht_add(d, p, v >> 7 & mask);
      v = w[2];
      p = four[4];
      a = ht_add(a, p, v & mask);
      b = ht_add(b, p, v >> 1 & mask);
      c = ht_add(c, p, v >> 2 & mask);
      d = ht_add(d, p, v >> 3 & mask);
      p = four[5];
      a = ht_add(a, p, v >> 4 & mask);
      b = ht_add(b, p, v >> 5 & mask);
      c = ht_add(c, p, v >> 6 & mask);
      d = ht_add(d, p, v >> 7 & mask);
      v = w[3];
      p = four[6];
      a = ht_add(a, p, v & mask);
      b = ht_add(b, p, v >> 1 & mask);
      c = ht_add(c, p, v >> 2 & mask);
      d = ht_add(d, p, v >> 3 & mask);
      p = four[7];
      a = ht_add(a, p, v >> 4 & mask);
      b = ht_add(b, p, v >> 5 & mask);
      c = ht_add(c, p, v >> 6 & mask);
      d = ht_add(d, p, v >> 7 & mask);
      first += a >> 24;
      second += b >> 24;
      third += c >> 24;
      fourth += d >> 24;
      four += 8;
      w += 4;
    } while (four != end);
    sums[0] = (int32_t)(4u * first - 2u * total) + (int32_t)reach * (int16_t)(ones[0] & 0xFFFFu);
    sums[1] = (int32_t)(4u * second - 2u * total) + (int32_t)reach * (int16_t)(ones[0] >> 16);
    sums[2] = (int32_t)(4u * third - 2u * total) + (int32_t)reach * (int16_t)(ones[1] & 0xFFFFu);
    sums[3] = (int32_t)(4u * fourth - 2u * total) + (int32_t)reach * (int16_t)(ones[1] >> 16);
  }
}
