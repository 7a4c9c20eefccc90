/* Of booleans. */
static void ht_not_u8(const uint8_t *x, int32_t n, uint8_t *y) {
  for (int32_t i = 0; i < n; ++i) y[i] = (uint8_t)(x[i] == 0);
}
