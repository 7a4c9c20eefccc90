/* c ? a : b on four axes, of elements of so many bytes; operands that repeat have steps of 0. */
static void ht_choose(const uint8_t *c, const int32_t *c_steps, const void *a,
                      const int32_t *a_steps, const void *b, const int32_t *b_steps,
                      const int32_t *extents, void *y, int32_t element_bytes) {
  char *to = y;
  for (int32_t i = 0; i < extents[0]; ++i) {
    for (int32_t j = 0; j < extents[1]; ++j) {
      for (int32_t k = 0; k < extents[2]; ++k) {
        const uint8_t *wants_a = c + i * c_steps[0] + j * c_steps[1] + k * c_steps[2];
        const int32_t at_a = i * a_steps[0] + j * a_steps[1] + k * a_steps[2];
        const int32_t at_b = i * b_steps[0] + j * b_steps[1] + k * b_steps[2];
        for (int32_t l = 0; l < extents[3]; ++l, to += element_bytes) {
          const char *from = wants_a[l * c_steps[3]]
                                 ? (const char *)a + (at_a + l * a_steps[3]) * element_bytes
                                 : (const char *)b + (at_b + l * b_steps[3]) * element_bytes;
          memcpy(to, from, (size_t)element_bytes);
        }
      }
    }
  }
}
