/* needs: requantize */
/* An operand of a sum, difference or product: code q is the integer (q - zero) 2^20 times a
   multiplier, rounded twice. */
typedef struct {
  int32_t zero, mantissa, shift;
} ht_operand;

static int32_t ht_integer(int8_t code, const ht_operand *how) {
  const int32_t x = (code - how->zero) * ((int32_t)1 << 20);
  return ht_round_twice(x, how->mantissa, how->shift);
}

/* y[i] = code of a[i] + sign b[i] */
static void ht_add_i8(const int8_t *a, const ht_operand *of_a, const int8_t *b,
                      const ht_operand *of_b, int32_t n, int32_t sign, const ht_codes *how,
                      int8_t *y) {
  for (int32_t i = 0; i < n; ++i) {
    const int32_t sum = ht_integer(a[i], of_a) + sign * ht_integer(b[i], of_b);
    y[i] = (int8_t)ht_code(sum, how, 0);
  }
}
