/* Products of bit planes: counts of differing bits. Processors of this size count no bits, so words
 * are added as columns of binary numbers first (Harley and Seal): a full adder takes three words to
 * a sum and a carry, and one word in eight remains to be counted. */

#if defined(__riscv_zbb) || defined(__wasm__)

static uint32_t ht_differences(const uint32_t *x, const uint32_t *w, uint32_t words) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < words; ++k) count += (uint32_t)__builtin_popcount(x[k] ^ w[k]);
  return count;
}

#else

/* sum + 2 carry = sum + a + b in each bit. */
static inline uint32_t ht_add_bits(uint32_t *sum, uint32_t a, uint32_t b) {
  const uint32_t differs = *sum ^ a;
  const uint32_t carry = (*sum & a) | (differs & b);
  *sum = differs ^ b;
  return carry;
}

/* The number of ones of each four bits. */
static inline uint32_t ht_count_fours(uint32_t v) {
  v -= v >> 1 & 0x55555555u;
  return (v & 0x33333333u) + (v >> 2 & 0x33333333u);
}

/* The number of ones of (x xor w). */
static inline uint32_t ht_differences(const uint32_t *x, const uint32_t *w, uint32_t words) {
  uint32_t ones = 0, twos = 0, fours = 0, eights = 0, sums;
  if (words & 1u) ones = *x++ ^ *w++;
  if (words & 2u) {
    twos = ht_add_bits(&ones, x[0] ^ w[0], x[1] ^ w[1]);
    x += 2;
    w += 2;
  }
  if (words & 4u) {
    const uint32_t a = ht_add_bits(&ones, x[0] ^ w[0], x[1] ^ w[1]);
    const uint32_t b = ht_add_bits(&ones, x[2] ^ w[2], x[3] ^ w[3]);
    fours = ht_add_bits(&twos, a, b);
    x += 4;
    w += 4;
  }
  /* A byte of `eights` holds the counts of eight bits of at most 31 rounds. */
  uint32_t total = 0;
  for (uint32_t rounds = words >> 3; rounds != 0;) {
    uint32_t some = rounds < 31u ? rounds : 31u;
    rounds -= some;
    for (eights = 0; some != 0; --some, x += 8, w += 8) {
      uint32_t a = ht_add_bits(&ones, x[0] ^ w[0], x[1] ^ w[1]);
      uint32_t b = ht_add_bits(&ones, x[2] ^ w[2], x[3] ^ w[3]);
      const uint32_t c = ht_add_bits(&twos, a, b);
      a = ht_add_bits(&ones, x[4] ^ w[4], x[5] ^ w[5]);
      b = ht_add_bits(&ones, x[6] ^ w[6], x[7] ^ w[7]);
      const uint32_t d = ht_add_bits(&twos, a, b);
      const uint32_t counts = ht_count_fours(ht_add_bits(&fours, c, d));
      eights += (counts + (counts >> 4)) & 0x0F0F0F0Fu;
    }
    eights = (eights & 0x00FF00FFu) + (eights >> 8 & 0x00FF00FFu);
    total += 8u * ((eights & 0xFFFFu) + (eights >> 16));
  }
  sums = ht_count_fours(ones) + 2u * ht_count_fours(twos);
  sums = (sums & 0x0F0F0F0Fu) + (sums >> 4 & 0x0F0F0F0Fu);
  fours = ht_count_fours(fours);
  sums += 4u * ((fours + (fours >> 4)) & 0x0F0F0F0Fu);
  sums = (sums & 0x00FF00FFu) + (sums >> 8 & 0x00FF00FFu);
  return total + (sums & 0xFFFFu) + (sums >> 16);
}

#endif

/* counts[o][i][j] = the number of ones of (plane i of x) xor (plane j of output o of w).
 * x [x_planes][words], w [outputs][w_planes][words], words = ceil(inputs / 32), padding zero. */
static void ht_bits(const uint32_t *x, uint32_t x_planes, const uint32_t *w, uint32_t w_planes,
                    uint32_t words, uint32_t outputs, uint32_t *counts) {
  for (uint32_t o = 0; o < outputs; ++o) {
    const uint32_t *plane = x;
    for (uint32_t i = 0; i < x_planes; ++i, plane += words) {
      for (uint32_t j = 0; j < w_planes; ++j) {
        *counts++ = ht_differences(plane, w + j * words, words);
      }
    }
    w += w_planes * words;
  }
}
