/* needs: signs plane_sums_f32 */
/* A fully connected layer on bits as ht_bit_layer, whose weights are steps[o] times integers: plane j
   of output o counts +-steps[o] factors[j], its offset is steps[o] shift. */
typedef struct {
  int32_t inputs, x_planes, w_planes, outputs;
  const float *x_scales;
  float x_offset;
  const float *steps;    /* [outputs] */
  const int8_t *factors; /* [w_planes] */
  int32_t shift;
  const float *bias; /* [outputs], or null for none */
} ht_even_layer;

/* y[o] of the planes of a row, plane by plane, four outputs at a time, whose planes `sums` has: of
   each plane of x, with the operations of ht_dense_bits_f32(). */
static void ht_dense_even_f32(const uint32_t *x, const uint32_t *w, const ht_even_layer *layer,
                              int32_t *sums, float *y) {
  const int32_t n = layer->inputs, planes = layer->w_planes;
  const uint32_t words = ((uint32_t)n + 31u) / 32u;
  const uint32_t columns = (uint32_t)planes * 4u;
  uint32_t totals[8];
  const float x_sum = ht_plane_sums_f32(x, layer->x_planes, n, layer->x_scales, totals);
  for (int32_t o = 0; o < layer->outputs; ++o) {
    const int32_t *each = sums + o % 4 * planes;
    const uint32_t *counts = w;
    const float step = layer->steps[o];
    float sum = 0, total = 0;
    if (o % 4 == 0) {
      for (int32_t i = 0; i < layer->x_planes; ++i) {
        ht_signs(x + (uint32_t)i * words, words, totals[i], w, columns, sums + (uint32_t)i * columns);
      }
    }
    for (int32_t i = 0; i < layer->x_planes; ++i, each += columns) {
      for (int32_t j = 0; j < planes; ++j) {
        const float scale = step * (float)layer->factors[j];
        sum += (layer->x_scales[i] * scale) * (float)each[j];
      }
    }
    /* The sum of all weights without offset, from what ht_signs() has for each column. */
    for (int32_t j = 0; j < planes; ++j) {
      const uint32_t column = (uint32_t)(o % 4 * planes + j);
      const uint32_t two = counts[column / 4u * (2u + 4u * words) + column % 4u / 2u];
      const int32_t plane_sum = -(int16_t)(two >> 16 * (column % 2u) & 0xFFFFu);
      total += step * (float)layer->factors[j] * (float)plane_sum;
    }
    if (layer->shift != 0) {
      sum += step * (float)layer->shift * (x_sum + (float)n * layer->x_offset);
    }
    if (layer->x_offset != 0) sum += layer->x_offset * total;
    if (layer->bias) sum += layer->bias[o];
    y[o] = sum;
    if (o % 4 == 3) w += columns / 4u * (2u + 4u * words);
  }
}
