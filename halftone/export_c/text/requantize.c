/* How 32-bit sums become 8-bit codes: one multiplier mantissa / 2^shift for all outputs, or one for
   each. */
typedef struct {
  const int32_t *mantissas;
  const int64_t *wide; /* mantissas of more bits in their place, or null */
  const int8_t *shifts;
  int32_t step;  /* 1: a multiplier for each output, 0: one for all */
  int32_t twice; /* 1: rounded at 2^-31 and again, as TensorFlow Lite does; 0: once */
  int32_t zero;
  int32_t low;
  int32_t high;
} ht_codes;

/* x mantissa / 2^shift, rounded twice, ties of the second time away from zero. */
static inline int32_t ht_round_twice(int32_t x, int32_t mantissa, int32_t shift) {
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
static inline int32_t ht_code(int32_t sum, const ht_codes *how, int32_t o) {
  const int32_t at = how->step ? o : 0;
  const int32_t shift = how->shifts[at];
  int32_t y;
  if (how->twice) {
    y = ht_round_twice(sum, how->mantissas[at], shift);
  } else {
    /* Beyond 2^26 codes have reached their bounds. */
    const int64_t x = sum < -67108864 ? -67108864 : sum > 67108864 ? 67108864 : sum;
    const int64_t mantissa = how->wide ? how->wide[at] : how->mantissas[at];
    y = (int32_t)((x * mantissa + ((int64_t)1 << (shift - 1))) >> shift);
  }
  y = (int32_t)((uint32_t)y + (uint32_t)how->zero);
  return y < how->low ? how->low : y > how->high ? how->high : y;
}
