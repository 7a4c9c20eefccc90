/* The square root of x, rounded to nearest, digit by digit; NaN below 0. */
static double ht_sqrt_f64(double x) {
  uint64_t bits, root = 0;
  memcpy(&bits, &x, sizeof bits);
  if (x == 0 || x != x || bits == 0x7FF0000000000000u) return x;
  if (x < 0) {
    bits = 0x7FF8000000000000u;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  int32_t exponent = (int32_t)(bits >> 52);
  uint64_t rest = bits & 0xFFFFFFFFFFFFFu;
  if (exponent != 0) rest |= 1ull << 52;
  for (exponent += exponent == 0; rest < 1ull << 52; --exponent) rest <<= 1;
  exponent -= 1023;
  if (exponent % 2 != 0) rest <<= 1;
  rest <<= 1;
  exponent -= exponent % 2 != 0; /* even: its half is that of the root */
  for (uint64_t digit = 1ull << 53; digit != 0; digit >>= 1) {
    const uint64_t step = 2u * root + digit;
    if (step <= rest) {
      rest -= step;
      root += digit;
    }
    rest <<= 1;
  }
  if (rest != 0) root += root & 1u; /* one digit more than the result has: never a tie */
  bits = (root >> 1) + ((uint64_t)(exponent / 2 + 1022) << 52);
  memcpy(&x, &bits, sizeof x);
  return x;
}
