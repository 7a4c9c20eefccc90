/* needs: requantize */
/* Codes of sum_k (x[a][k][b] - zero), for a mean or a sum over the axis in the middle. */
static void ht_mean_i8(const int8_t *x, int32_t zero, int32_t outer, int32_t extent, int32_t inner,
                       const ht_codes *how, int8_t *y) {
  for (int32_t a = 0; a < outer; ++a, x += extent * inner) {
    for (int32_t b = 0; b < inner; ++b) {
      int32_t sum = 0;
      for (int32_t k = 0; k < extent; ++k) sum += x[k * inner + b] - zero;
      *y++ = (int8_t)ht_code(sum, how, 0);
    }
  }
}
