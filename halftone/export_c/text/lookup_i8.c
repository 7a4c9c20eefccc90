/* A function of one code: table[code + 128]. */
static void ht_lookup_i8(const int8_t *x, int32_t n, const int8_t *table, int8_t *y) {
  for (int32_t i = 0; i < n; ++i) y[i] = table[x[i] + 128];
}
