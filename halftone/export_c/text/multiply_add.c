/* needs: prelude */
/* a + p v; keeps the order of sums, which needs few registers. */
static inline uint32_t ht_add(uint32_t a, uint32_t p, uint32_t v) { return ht_in_register(a + p * v); }
