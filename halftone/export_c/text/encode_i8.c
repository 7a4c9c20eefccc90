/* needs: code_of_f32 */
/* A byte for each number. */
static void ht_encode_i8(const float *x, int32_t n, const ht_encoder *how, int8_t *y) {
  for (int32_t i = 0; i < n; ++i) y[i] = ht_code_of(x[i], how);
}
