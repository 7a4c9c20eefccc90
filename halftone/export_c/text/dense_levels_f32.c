/* What the sums of a fully connected layer of 8-bit codes mean: code q is scale q + offset, and the
   integer of a weight half_steps[o] times it, plus centers[o]. */
typedef struct {
  int32_t inputs, outputs;
  const float *half_steps;
  const float *centers; /* [outputs], or null for none */
  const float *totals;  /* [outputs] for inputs that are all one, or null for offset = 0 */
  const float *bias;    /* [outputs], or null for none */
  float offset;
} ht_level_layer;

/* y[o] from sums[o] of the products, and the sum of the codes, in this order. */
static void ht_dense_levels_f32(const int32_t *sums, int32_t x_sum, float scale,
                                const ht_level_layer *layer, float *y) {
  for (int32_t o = 0; o < layer->outputs; ++o) {
    float sum = 0;
    sum += layer->half_steps[o] * (float)sums[o];
    if (layer->centers) sum += layer->centers[o] * (float)x_sum;
    sum *= scale;
    if (layer->totals) sum += layer->offset * layer->totals[o];
    if (layer->bias) sum += layer->bias[o];
    y[o] = sum;
  }
}
