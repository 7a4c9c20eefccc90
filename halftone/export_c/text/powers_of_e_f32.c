/* needs: exp_f32 */
/* e^x */
static void ht_powers_of_e_f32(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = ht_exp_f32(x[i]);
}
