/* Towards zero, within the range of int32; 0 for no number. */
static int32_t ht_whole_32_f32(float x) {
  if (x != x) return 0;
  if (x < -2147483648.0f) return INT32_MIN;
  return x < 2147483648.0f ? (int32_t)x : INT32_MAX;
}
