/* e^x in float64 = 2^k e^r, r to its 13th power. */
static double ht_power_of_two_f64(int32_t k) {
  const uint64_t bits = (uint64_t)(k + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

static double ht_exp_f64(double x) {
  if (x != x) return x;
  if (x > 710.0) return 1.0 / 0.0;
  if (x < -746.0) return 0;
  const double shifted = x * 1.4426950408889634 + 6755399441055744.0;
  const double whole = shifted - 6755399441055744.0;
  const double high = x - whole * 0x1.62e42fefap-1;
  const double r = high - whole * 0x1.cf79abc9e3b39p-40;
  double sum = 1;
  for (int32_t n = 14; n >= 2; --n) sum = 1 + r / (double)n * sum;
  const double mantissa = 1 + r * sum;
  const int32_t k = (int32_t)whole;
  if (k > 1022) return mantissa * ht_power_of_two_f64(k - 1) * 2;
  if (k < -1021) return mantissa * ht_power_of_two_f64(k + 200) * ht_power_of_two_f64(-200);
  return mantissa * ht_power_of_two_f64(k);
}
