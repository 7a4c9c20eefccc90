/* Towards zero, within the range of int64; 0 for no number. */
static int64_t ht_whole_64_f32(float x) {
  if (x != x) return 0;
  if (x < -9223372036854775808.0f) return INT64_MIN;
  return x < 9223372036854775808.0f ? (int64_t)x : INT64_MAX;
}
