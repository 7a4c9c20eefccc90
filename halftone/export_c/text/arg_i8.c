/* Where the largest code lies along the axis in the middle for sign = 1, the smallest for -1: the
   first of equal ones, or the last. */
static void ht_arg_i8(const int8_t *x, int32_t outer, int32_t extent, int32_t inner, int32_t sign,
                      int32_t is_last, int64_t *y) {
  for (int32_t line = 0; line < outer * inner; ++line) {
    const int8_t *from = x + line / inner * extent * inner + line % inner;
    int32_t best = 0;
    for (int32_t k = 1; k < extent; ++k) {
      const int32_t number = sign * from[k * inner], most = sign * from[best * inner];
      if (number > most || (is_last && number == most)) best = k;
    }
    *y++ = best;
  }
}
