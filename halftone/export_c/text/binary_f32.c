enum { HT_ADD, HT_SUBTRACT, HT_MULTIPLY, HT_DIVIDE, HT_LARGER, HT_SMALLER, HT_SLOPED };

static float ht_pair_f32(float u, float v, int32_t kind) {
  if (kind == HT_ADD) return u + v;
  if (kind == HT_SUBTRACT) return u - v;
  if (kind == HT_MULTIPLY) return u * v;
  if (kind == HT_DIVIDE) return u / v;
  if (kind == HT_LARGER) return u < v || v != v ? v : u;
  if (kind == HT_SMALLER) return v < u || v != v ? v : u;
  return u < 0 ? u * v : u;
}

/* A function of two operands on four axes; those that repeat have steps of 0. */
static void ht_binary_f32(const float *a, const int32_t *a_steps, const float *b,
                          const int32_t *b_steps, const int32_t *extents, int32_t kind, float *y) {
  for (int32_t i = 0; i < extents[0]; ++i) {
    for (int32_t j = 0; j < extents[1]; ++j) {
      for (int32_t k = 0; k < extents[2]; ++k) {
        const float *from_a = a + i * a_steps[0] + j * a_steps[1] + k * a_steps[2];
        const float *from_b = b + i * b_steps[0] + j * b_steps[1] + k * b_steps[2];
        for (int32_t l = 0; l < extents[3]; ++l, from_a += a_steps[3], from_b += b_steps[3]) {
          *y++ = ht_pair_f32(*from_a, *from_b, kind);
        }
      }
    }
  }
}
