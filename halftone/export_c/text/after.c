/* The mask, once four sums are known: what needs it comes behind them, which takes few registers. */
static inline uint32_t ht_after(uint32_t mask, const uint32_t *sums) {
#if defined(__GNUC__)
  __asm__("" : "+r"(mask) : "r"(sums[0]), "r"(sums[1]), "r"(sums[2]), "r"(sums[3]));
#else
  (void)sums;
#endif
  return mask;
}
