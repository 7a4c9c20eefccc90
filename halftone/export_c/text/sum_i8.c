/* sum_k x[k] */
static int32_t ht_sum_i8(const int8_t *x, int32_t n) {
  int32_t sum = 0;
  for (int32_t k = 0; k < n; ++k) sum += x[k];
  return sum;
}
