/* needs: code_of_f32 */
/* Codes of 1, 2 or 4 bits in bytes. */
static void ht_encode_packed(const float *x, int32_t n, const ht_encoder *how, int32_t bits,
                             uint8_t *y) {
  for (; n > 0; n -= 8 / bits) {
    uint32_t byte = 0;
    for (int32_t i = 0; i < 8 / bits && i < n; ++i) {
      byte |= (uint32_t)(int32_t)ht_code_of(*x++, how) << i * bits;
    }
    *y++ = (uint8_t)byte;
  }
}
