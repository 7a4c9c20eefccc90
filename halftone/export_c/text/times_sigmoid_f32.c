/* needs: exp_parts_f32 times_power_of_two */
/* x / (1 + e^-v) where x >= 0, else -a e^-v / (1 + e^-v), for 0 <= v <= 170. */
static float ht_times_sigmoid_f32(float x, float a, float v) {
  const float whole = ht_exponent_of(-v);
  const int32_t k = (int32_t)whole;
  const float m = ht_exp_less_1(ht_reduced(-v, whole)) + 1.0f;
  return (x < 0 ? ht_times_power_of_two(-a * m, k) : x) / (1.0f + ht_times_power_of_two(m, k));
}
