/* A fully connected layer on bits. Plane i of the inputs counts +-x_scales[i], plane j of output o
   +-scales[o][j]; both have offsets. */
typedef struct {
  int32_t inputs, x_planes, w_planes, outputs;
  const float *x_scales;
  float x_offset;
  const float *scales;
  const float *offsets; /* [outputs], or null for none */
  const float *sums;    /* [outputs] of all weights without offset, or null for x_offset = 0 */
  const float *bias;    /* [outputs], or null for none */
} ht_bit_layer;
