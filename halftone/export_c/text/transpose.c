/* The elements of four axes, the last one innermost; x has them at these steps of bytes. */
static void ht_transpose(const void *x, const int32_t *extents, const int32_t *steps,
                         int32_t element_bytes, void *y) {
  char *to = (char *)y;
  for (int32_t a = 0; a < extents[0]; ++a) {
    for (int32_t b = 0; b < extents[1]; ++b) {
      for (int32_t c = 0; c < extents[2]; ++c) {
        const char *from = (const char *)x + a * steps[0] + b * steps[1] + c * steps[2];
        for (int32_t d = 0; d < extents[3]; ++d, from += steps[3], to += element_bytes) {
          memcpy(to, from, (size_t)element_bytes);
        }
      }
    }
  }
}
