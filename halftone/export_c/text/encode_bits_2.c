/* needs: level_f32 */
/* A row as two bit planes, of codes that are levels. */
static void ht_encode_bits_2(const float *x, int32_t n, const ht_encoder *how, uint32_t *y) {
  const int32_t words = (n + 31) / 32;
  const int32_t first = how->thresholds[0], second = how->thresholds[1];
  const int32_t third = how->thresholds[2];
  for (; n > 0; n -= 32, ++y) {
    const int32_t some = n < 32 ? n : 32;
    uint32_t low = 0, high = 0, bit = 1;
    for (int32_t i = 0; i < some; ++i, bit <<= 1) {
      const int32_t key = ht_key_of(*x++);
      if (key > second) {
        high |= bit;
        if (key > third) low |= bit;
      } else if (key > first) {
        low |= bit;
      }
    }
    y[0] = low;
    y[words] = high;
  }
}
