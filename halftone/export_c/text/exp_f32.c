/* needs: exp_parts_f32 times_power_of_two */
/* e^x */
static float ht_exp_f32(float x) {
  if (x != x) return x;
  x = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  const float whole = ht_exponent_of(x);
  return ht_times_power_of_two(ht_exp_less_1(ht_reduced(x, whole)) + 1.0f, (int32_t)whole);
}
