/* A convolution on bits. The planes of the inputs form digits, sums of a unit: planes[d] and, where
   multiples[d][1] is not 0, a second one. */
typedef struct {
  int32_t inputs, x_planes, w_planes, outputs, digits;
  const int8_t *planes;    /* [digits][2] */
  const int8_t *multiples; /* [digits][2] */
  const float *units;      /* [digits] */
  const float *scales;     /* [outputs][w_planes] */
  const float *offsets;    /* [outputs], or null for none */
} ht_bit_conv;
