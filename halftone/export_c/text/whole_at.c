/* Element i of integers of 1, 4 or 8 bytes. */
static int64_t ht_whole_at(const void *x, int32_t i, int32_t bytes) {
  if (bytes == 1) return ((const int8_t *)x)[i];
  if (bytes == 4) return ((const int32_t *)x)[i];
  return ((const int64_t *)x)[i];
}
