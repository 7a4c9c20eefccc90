/* needs: comparison whole_at */
static uint8_t ht_holds_i64(int64_t u, int64_t v, int32_t kind) {
  if (kind == HT_EQUAL) return (uint8_t)(u == v);
  if (kind == HT_LESS) return (uint8_t)(u < v);
  if (kind == HT_LESS_OR_EQUAL) return (uint8_t)(u <= v);
  if (kind == HT_GREATER) return (uint8_t)(u > v);
  return (uint8_t)(u >= v);
}

/* The same as ht_compare_f32() of integers of so many bytes. */
static void ht_compare_i64(const void *a, const int32_t *a_steps, const void *b,
                           const int32_t *b_steps, const int32_t *extents, int32_t kind,
                           int32_t bytes, uint8_t *y) {
  for (int32_t i = 0; i < extents[0]; ++i) {
    for (int32_t j = 0; j < extents[1]; ++j) {
      for (int32_t k = 0; k < extents[2]; ++k) {
        int32_t at_a = i * a_steps[0] + j * a_steps[1] + k * a_steps[2];
        int32_t at_b = i * b_steps[0] + j * b_steps[1] + k * b_steps[2];
        for (int32_t l = 0; l < extents[3]; ++l, at_a += a_steps[3], at_b += b_steps[3]) {
          *y++ = ht_holds_i64(ht_whole_at(a, at_a, bytes), ht_whole_at(b, at_b, bytes), kind);
        }
      }
    }
  }
}
