#if defined(__ARM_FEATURE_DSP)

/* Bytes 0 and 2, and bytes 1 and 3, as pairs of 16 bits. */
static inline int16x2_t ht_even_bytes(uint32_t four) { return __sxtb16((int8x4_t)four); }
static inline int16x2_t ht_odd_bytes(uint32_t four) {
#if defined(__GNUC__)
  int16x2_t odd; /* one instruction, which compilers do not find */
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(four));
  return odd;
#else
  return __sxtb16((int8x4_t)(four >> 8 | four << 24));
#endif
}

/* sum + the products of four bytes. */
static inline int32_t ht_add_four(int32_t sum, int16x2_t even, int16x2_t odd, const int8_t *w) {
  uint32_t four;
  memcpy(&four, w, 4);
  sum = __smlad(even, ht_even_bytes(four), sum);
  return __smlad(odd, ht_odd_bytes(four), sum);
}

/* w, once a sum is known: what is read there comes behind it, which takes few registers. */
static inline const int8_t *ht_behind(const int8_t *w, uint32_t sum) {
#if defined(__GNUC__)
  __asm__("" : "+r"(w) : "r"(sum));
#else
  (void)sum;
#endif
  return w;
}

#endif
