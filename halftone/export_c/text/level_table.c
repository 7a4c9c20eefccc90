/* One input of two outputs, whose codes are in the lowest bits of v and u. */
#define HT_LOOK_UP(k)                           \
  do {                                          \
    const int32_t input = x[k];                 \
    first += input * of_v[v >> 4 * (k) & 15u];  \
    second += input * of_u[u >> 4 * (k) & 15u]; \
  } while (0)

/* sums[o] = sum_k x[k] w[o][k], the weights being codes of 4 bits: each row has a table of what they
 * are. w: of each output the 16 bytes of its table, in the order of the codes, for an even number of
 * outputs; then of each two outputs, of each eight inputs, a word of the codes of both. */
static void ht_level_table(const int8_t *x, const uint32_t *w, uint32_t inputs, uint32_t outputs,
                           int32_t *sums) {
  const int8_t *of_v = (const int8_t *)w;
  w += (outputs + 1u) / 2u * 8u;
  for (uint32_t o = 0; o < outputs; o += 2u, of_v += 32) {
    const int8_t *const of_u = of_v + 16;
    int32_t first = 0, second = 0;
    uint32_t k = 0;
    for (; k + 8u <= inputs; k += 8u, x += 8, w += 2) {
      const uint32_t v = w[0], u = w[1];
      HT_LOOK_UP(0);
      HT_LOOK_UP(1);
      HT_LOOK_UP(2);
      HT_LOOK_UP(3);
      HT_LOOK_UP(4);
      HT_LOOK_UP(5);
      HT_LOOK_UP(6);
      HT_LOOK_UP(7);
    }
    if (k < inputs) {
      uint32_t v = w[0], u = w[1];
      for (w += 2; k < inputs; ++k, ++x, v >>= 4, u >>= 4) HT_LOOK_UP(0);
    }
    x -= inputs;
    sums[o] = first;
    if (o + 1u < outputs) sums[o + 1u] = second;
  }
}
#undef HT_LOOK_UP
