/* Rows of bytes at other distances. */
static void ht_copy_rows(const void *x, int32_t rows, int32_t bytes, int32_t from_step, void *y,
                         int32_t to_step) {
  for (int32_t r = 0; r < rows; ++r) {
    memcpy((char *)y + r * to_step, (const char *)x + r * from_step, (size_t)bytes);
  }
}
