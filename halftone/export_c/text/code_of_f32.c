/* needs: level_f32 */
static int8_t ht_code_of(float x, const ht_encoder *how) {
  const int32_t *above = how->thresholds;
  const int32_t key = ht_key_of(x);
  for (int32_t step = (how->count + 1) / 2; step != 0; step >>= 1) {
    if (key > above[step - 1]) above += step;
  }
  const int32_t level = (int32_t)(above - how->thresholds);
  return how->codes ? how->codes[level] : (int8_t)(how->first + level);
}
