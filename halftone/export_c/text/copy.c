/* Elements of four axes from steps of bytes to other steps, the last axis innermost. */
static void ht_copy(const void *x, const int32_t *extents, const int32_t *from_steps, void *y,
                    const int32_t *to_steps, int32_t element_bytes) {
  for (int32_t a = 0; a < extents[0]; ++a) {
    for (int32_t b = 0; b < extents[1]; ++b) {
      for (int32_t c = 0; c < extents[2]; ++c) {
        const char *from =
            (const char *)x + a * from_steps[0] + b * from_steps[1] + c * from_steps[2];
        char *to = (char *)y + a * to_steps[0] + b * to_steps[1] + c * to_steps[2];
        for (int32_t d = 0; d < extents[3]; ++d, from += from_steps[3], to += to_steps[3]) {
          memcpy(to, from, (size_t)element_bytes);
        }
      }
    }
  }
}
