/* Elements of three axes, each with a list of where its indices lie in bytes. */
static void ht_pick(const void *x, const int32_t *extents, const int32_t *at_0,
                    const int32_t *at_1, const int32_t *at_2, void *y, int32_t element_bytes) {
  char *to = y;
  for (int32_t a = 0; a < extents[0]; ++a) {
    for (int32_t b = 0; b < extents[1]; ++b) {
      const char *from = (const char *)x + at_0[a] + at_1[b];
      for (int32_t c = 0; c < extents[2]; ++c, to += element_bytes) {
        memcpy(to, from + at_2[c], (size_t)element_bytes);
      }
    }
  }
}
