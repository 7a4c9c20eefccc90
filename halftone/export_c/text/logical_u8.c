enum { HT_AND, HT_OR, HT_XOR };

static uint8_t ht_both_u8(uint8_t u, uint8_t v, int32_t kind) {
  if (kind == HT_AND) return (uint8_t)(u & v);
  if (kind == HT_OR) return (uint8_t)(u | v);
  return (uint8_t)(u ^ v);
}

/* A function of two booleans on four axes; operands that repeat have steps of 0. */
static void ht_logical_u8(const uint8_t *a, const int32_t *a_steps, const uint8_t *b,
                          const int32_t *b_steps, const int32_t *extents, int32_t kind,
                          uint8_t *y) {
  for (int32_t i = 0; i < extents[0]; ++i) {
    for (int32_t j = 0; j < extents[1]; ++j) {
      for (int32_t k = 0; k < extents[2]; ++k) {
        const uint8_t *from_a = a + i * a_steps[0] + j * a_steps[1] + k * a_steps[2];
        const uint8_t *from_b = b + i * b_steps[0] + j * b_steps[1] + k * b_steps[2];
        for (int32_t l = 0; l < extents[3]; ++l, from_a += a_steps[3], from_b += b_steps[3]) {
          *y++ = ht_both_u8(*from_a, *from_b, kind);
        }
      }
    }
  }
}
