/* needs: pow_f64 */
/* a^b on four axes; an operand that repeats has steps of 0. */
static void ht_powers_f32(const float *a, const int32_t *a_steps, const float *b,
                          const int32_t *b_steps, const int32_t *extents, float *y) {
  for (int32_t i = 0; i < extents[0] * extents[1]; ++i) {
    const int32_t first = i / extents[1], second = i % extents[1];
    for (int32_t j = 0; j < extents[2]; ++j) {
      const float *u = a + first * a_steps[0] + second * a_steps[1] + j * a_steps[2];
      const float *v = b + first * b_steps[0] + second * b_steps[1] + j * b_steps[2];
      for (int32_t k = 0; k < extents[3]; ++k, u += a_steps[3], v += b_steps[3]) {
        *y++ = (float)ht_pow_f64((double)*u, (double)*v);
      }
    }
  }
}
