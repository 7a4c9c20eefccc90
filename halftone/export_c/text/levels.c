/* Products of 8-bit inputs x and weights of few bits, two of a multiplication: with
 *
 *     p = x[0] + 2^16 x[1]   and   v = w[1] + 2^16 w[0]
 *
 * the upper half of the sum of some p v, modulo 2^32, is the sum of x[0] w[0] + x[1] w[1], if 2^15 is
 * added to the lower half, which then is no less than 0, and both halves fit 16 bits. */

enum { HT_CHUNK = 64 /* inputs whose sums fit 16 bits, with weights up to 3 */ };

/* Pairs of inputs; zeros behind the last. */
static void ht_pair_inputs(const int8_t *x, uint32_t inputs, uint32_t *pairs, int32_t *sum) {
  uint32_t k = 0;
  int32_t total = 0; /* added to *sum */
  for (; k + 1u < inputs; k += 2u) {
    total += x[k] + x[k + 1u];
    *pairs++ = (uint32_t)x[k] + ((uint32_t)x[k + 1u] << 16);
  }
  if (k < inputs) {
    total += x[k];
    *pairs++ = (uint32_t)x[k];
    k += 2u;
  }
  for (; k % 16u != 0u; k += 2u) *pairs++ = 0;
  *sum += total;
}

static inline int32_t ht_upper_half(uint32_t sum) { return (int32_t)sum >> 16; }
