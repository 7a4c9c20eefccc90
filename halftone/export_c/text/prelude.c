/* Keeps a mask in a register: an instruction of Arm shifts and masks a word at once, but not with a
 * mask inside the instruction. */
static inline uint32_t ht_in_register(uint32_t v) {
#if defined(__GNUC__)
  __asm__("" : "+r"(v));
#endif
  return v;
}
