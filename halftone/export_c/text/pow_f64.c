/* needs: exp_f64 log_f64 */
/* Whether y is 0, 1 or 2 more than an even integer: 2 means that it is none. */
static int32_t ht_rest_of_two(double y) {
  if (y >= 9007199254740992.0 || y <= -9007199254740992.0) return 0;
  const int64_t whole = (int64_t)y;
  return (double)whole != y ? 2 : whole % 2 != 0;
}

/* x^y = e^(y log x) in float64; zeros, infinities and NaN as in IEEE 754. */
static double ht_pow_f64(double x, double y) {
  const double infinity = 1.0 / 0.0;
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const double size = x < 0 ? -x : x;
  if (y == infinity || y == -infinity) {
    return size == 1 ? 1 : (size > 1) == (y > 0) ? infinity : 0;
  }
  const int32_t rest = ht_rest_of_two(y);
  if (size == 0 || size == infinity) {
    if (rest == 1) return y > 0 ? x : 1 / x;
    return (size == 0) == (y > 0) ? 0 : infinity;
  }
  const double power = ht_exp_f64(y * ht_log_f64(size));
  if (x > 0 || rest == 0) return power;
  return rest == 1 ? -power : infinity - infinity;
}
