/* Products of matrices, terms in the order of the inner axis. Steps are those of the operands along
   two axes of products, then along the rows or columns, then along the inner axis. */
static void ht_matmul_f32(const float *a, const int32_t *a_steps, const float *b,
                          const int32_t *b_steps, const int32_t *extents, float *y) {
  for (int32_t i = 0; i < extents[0] * extents[1]; ++i) {
    const int32_t first = i / extents[1], second = i % extents[1];
    const float *matrix_a = a + first * a_steps[0] + second * a_steps[1];
    const float *matrix_b = b + first * b_steps[0] + second * b_steps[1];
    for (int32_t r = 0; r < extents[2]; ++r) {
      for (int32_t c = 0; c < extents[3]; ++c) {
        const float *u = matrix_a + r * a_steps[2];
        const float *v = matrix_b + c * b_steps[2];
        float sum = 0;
        for (int32_t k = 0; k < extents[4]; ++k) sum += u[k * a_steps[3]] * v[k * b_steps[3]];
        *y++ = sum;
      }
    }
  }
}
