/* needs: exp_parts_f32 power_of_two */
/* scale x where x >= 0, else scale alpha (e^x - 1) */
static void ht_elu_f32(float *x, int32_t n, float alpha, float scale) {
  for (int32_t i = 0; i < n; ++i) {
    if (!(x[i] < 0)) {
      x[i] = scale * x[i];
      continue;
    }
    const float z = x[i] < -25.0f ? -25.0f : x[i];
    const float whole = ht_exponent_of(z);
    const float power = ht_power_of_two((int32_t)whole);
    x[i] = scale * (alpha * (power * ht_exp_less_1(ht_reduced(z, whole)) + (power - 1.0f)));
  }
}
