/* The natural logarithm in float64: k ln 2 + 2 atanh(s), s to its 25th power. */
static double ht_log_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x != x || bits == 0x7FF0000000000000u) return x;
  if (x == 0) return -1.0 / 0.0;
  if (x < 0) {
    bits = 0x7FF8000000000000u;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  int32_t k = 0;
  if (bits < 1ull << 52) { /* denormal */
    x *= 0x1p60;
    memcpy(&bits, &x, sizeof bits);
    k = -60;
  }
  k += (int32_t)(bits >> 52) - 1022;
  bits = (bits & 0xFFFFFFFFFFFFFu) | 1022ull << 52;
  double mantissa, sum = 0;
  memcpy(&mantissa, &bits, sizeof mantissa);
  if (mantissa < 1.4142135623730951 / 2) {
    mantissa *= 2;
    --k;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  for (int32_t n = 25; n >= 3; n -= 2) sum = square * (sum + 1.0 / (double)n);
  const double rest = 2 * s + 2 * s * sum;
  const double low = (double)k * 0x1.cf79abc9e3b39p-40 + rest;
  return (double)k * 0x1.62e42fefap-1 + low;
}
