// Functions with parameters, as kernels/activation/ has them; elementary.cl has the others.
FUNC float limited(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
FUNC float leaky_of(float x, float slope) { return x < 0.0f ? slope * x : x; }
FUNC float hard_sigmoid_of(float x, float slope, float shift) {
  float y = slope * x + shift;
  return is_nan(y) ? QUIET_NAN : limited(y, 0.0f, 1.0f);
}
FUNC float hard_swish_of(float x) {
  if (is_nan(x)) return QUIET_NAN;
  x = x < -3.0f ? -3.0f : x;
  return x * (limited(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f));
}
