/* needs: comparison */
static uint8_t ht_holds_f32(float u, float v, int32_t kind) {
  if (kind == HT_EQUAL) return (uint8_t)(u == v);
  if (kind == HT_LESS) return (uint8_t)(u < v);
  if (kind == HT_LESS_OR_EQUAL) return (uint8_t)(u <= v);
  if (kind == HT_GREATER) return (uint8_t)(u > v);
  return (uint8_t)(u >= v);
}

/* Compares two operands on four axes; those that repeat have steps of 0. 1 where it holds. */
static void ht_compare_f32(const float *a, const int32_t *a_steps, const float *b,
                           const int32_t *b_steps, const int32_t *extents, int32_t kind,
                           uint8_t *y) {
  for (int32_t i = 0; i < extents[0]; ++i) {
    for (int32_t j = 0; j < extents[1]; ++j) {
      for (int32_t k = 0; k < extents[2]; ++k) {
        const float *from_a = a + i * a_steps[0] + j * a_steps[1] + k * a_steps[2];
        const float *from_b = b + i * b_steps[0] + j * b_steps[1] + k * b_steps[2];
        for (int32_t l = 0; l < extents[3]; ++l, from_a += a_steps[3], from_b += b_steps[3]) {
          *y++ = ht_holds_f32(*from_a, *from_b, kind);
        }
      }
    }
  }
}
