/* needs: add_four */
/* Products of 8-bit inputs and weights of a byte, of four outputs at once. */

enum { HT_BYTES_CHUNK = 64 /* inputs that are widened together */ };

#if defined(__ARM_FEATURE_DSP)

/* Inputs as pairs of 16 bits; zeros behind the last. */
static void ht_widen_inputs(const int8_t *x, uint32_t inputs, uint32_t *pairs) {
  for (uint32_t k = 0; k < inputs; k += 2u) {
    const uint32_t second = k + 1u < inputs ? (uint32_t)x[k + 1u] : 0u;
    *pairs++ = ((uint32_t)x[k] & 0xFFFFu) | second << 16;
  }
  if ((inputs + 1u) / 2u % 2u != 0u) *pairs = 0;
}

static inline int32_t ht_add_bytes(int32_t sum, const uint32_t *pairs, uint32_t w) {
  sum = __smlad((int16x2_t)pairs[0], ht_even_bytes(w), sum);
  return __smlad((int16x2_t)pairs[1], ht_odd_bytes(w), sum);
}

static void ht_four_outputs(const uint32_t *pairs, const uint32_t *w, uint32_t words,
                            int32_t *sums) {
  int32_t a = 0, b = 0, c = 0, d = 0;
  for (const uint32_t *const end = pairs + 2u * words; pairs != end; pairs += 2, w += 4) {
    a = ht_add_bytes(a, pairs, w[0]);
    b = ht_add_bytes(b, pairs, w[1]);
    c = ht_add_bytes(c, pairs, w[2]);
    d = ht_add_bytes(d, pairs, w[3]);
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

#else

/* The inputs in the order of the weights; zeros behind the last. */
static void ht_widen_inputs(const int8_t *x, uint32_t inputs, uint32_t *pairs) {
  int8_t *to = (int8_t *)pairs;
  for (uint32_t k = 0; k < inputs; k += 4u, to += 4) {
    to[0] = x[k];
    to[1] = k + 2u < inputs ? x[k + 2u] : (int8_t)0;
    to[2] = k + 1u < inputs ? x[k + 1u] : (int8_t)0;
    to[3] = k + 3u < inputs ? x[k + 3u] : (int8_t)0;
  }
}

static void ht_four_outputs(const uint32_t *pairs, const uint32_t *weights, uint32_t words,
                            int32_t *sums) {
  const int8_t *x = (const int8_t *)pairs;
  const int8_t *w = (const int8_t *)weights;
  int32_t a = 0, b = 0, c = 0, d = 0;
  for (const int8_t *const end = x + 4u * words; x != end; x += 4, w += 16) {
    for (uint32_t i = 0; i < 4u; ++i) {
      a += x[i] * w[i];
      b += x[i] * w[i + 4u];
      c += x[i] * w[i + 8u];
      d += x[i] * w[i + 12u];
    }
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

#endif

/* sums[o] = sum_k x[k] w[o][k].
 * w: of each HT_BYTES_CHUNK inputs, of each four outputs, of each four inputs a word of each output:
 * bytes 0, 2, 1, 3 in the order of the memory are w of inputs 0, 1, 2, 3. */
static void ht_bytes(const int8_t *x, const uint32_t *w, uint32_t inputs, uint32_t outputs,
                     int32_t *sums) {
  uint32_t pairs[HT_BYTES_CHUNK / 2];
  for (uint32_t o = 0; o < outputs; ++o) sums[o] = 0;
  while (inputs != 0) {
    const uint32_t some = inputs < HT_BYTES_CHUNK ? inputs : HT_BYTES_CHUNK;
    const uint32_t words = (some + 3u) / 4u;
    ht_widen_inputs(x, some, pairs);
    for (uint32_t o = 0; o < outputs; o += 4u, w += 4u * words) {
      int32_t columns[4];
      ht_four_outputs(pairs, w, words, columns);
      for (uint32_t i = 0; i < 4u && o + i < outputs; ++i) sums[o + i] += columns[i];
    }
    x += some;
    inputs -= some;
  }
}
