/* How 32-bit sums become 8-bit codes: one multiplier mantissa / 2^shift for all outputs, or one for
   each. */
typedef struct {
  const int32_t *mantissas;
  const int8_t *shifts;
  int32_t step;  /* 1: a multiplier for each output, 0: one for all */
  int32_t twice; /* 1: rounded at 2^-31 and again, as TensorFlow Lite does; 0: once */
  int32_t zero;
  int32_t low;
  int32_t high;
} ht_codes;

/* x mantissa / 2^shift, rounded twice, ties of the second time away from zero. */
static int32_t ht_round_twice(int32_t x, int32_t mantissa, int32_t shift) {
  const int32_t left = shift < 31 ? 31 - shift : 0;
  const int32_t right = shift > 31 ? shift - 31 : 0;
  const int64_t product = (int64_t)(int32_t)((uint32_t)x << left) * mantissa;
  const int32_t high = (int32_t)((product + ((int64_t)1 << 30)) >> 31);
  const int32_t mask = (int32_t)(((uint32_t)1 << right) - 1u);
  const int32_t rest = high & mask;
  const int32_t half = (mask >> 1) + (high < 0 ? 1 : 0);
  return (high >> right) + (rest > half ? 1 : 0);
}

/* The code of the sum of output o. */
static int32_t ht_code(int32_t sum, const ht_codes *how, int32_t o) {
  const int32_t mantissa = how->mantissas[o * how->step];
  const int32_t shift = how->shifts[o * how->step];
  int64_t y;
  if (how->twice) {
    const uint32_t rounded = (uint32_t)ht_round_twice(sum, mantissa, shift);
    y = (int32_t)(rounded + (uint32_t)how->zero);
  } else {
    y = (((int64_t)sum * mantissa + ((int64_t)1 << (shift - 1))) >> shift) + how->zero;
  }
  return y < how->low ? how->low : y > how->high ? how->high : (int32_t)y;
}
