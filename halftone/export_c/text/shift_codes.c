/* Codes from 0 to 255 as codes from -128 to 127, or back. */
static void ht_shift_codes(const void *x, int32_t n, void *y) {
  const unsigned char *from = x;
  unsigned char *to = y;
  for (int32_t i = 0; i < n; ++i) to[i] = (unsigned char)(from[i] ^ 0x80u);
}
