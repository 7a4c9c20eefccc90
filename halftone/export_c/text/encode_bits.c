/* needs: code_of_f32 */
/* A row as bit planes: bit i & 31 of word i >> 5 of plane p is bit p of code i. */
static void ht_encode_bits(const float *x, int32_t n, const ht_encoder *how, int32_t planes,
                           uint32_t *y) {
  const int32_t words = (n + 31) / 32;
  memset(y, 0, (size_t)(planes * words) * sizeof *y);
  for (int32_t i = 0; i < n; ++i) {
    const uint32_t code = (uint32_t)(int32_t)ht_code_of(x[i], how);
    for (int32_t p = 0; p < planes; ++p) {
      y[p * words + (i >> 5)] |= (code >> p & 1u) << (i & 31);
    }
  }
}
