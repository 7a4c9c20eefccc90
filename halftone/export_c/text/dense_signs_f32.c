/* needs: signs ones bit_layer add_digit_f32 */
/* y[o] of the planes of a row, plane by plane. `sums` has the planes of all outputs, up to a multiple
   of four. */
static void ht_dense_signs_f32(const uint32_t *x, const uint32_t *w, const ht_bit_layer *layer,
                               int32_t *sums, float *y) {
  const int32_t n = layer->inputs;
  const uint32_t words = ((uint32_t)n + 31u) / 32u;
  const uint32_t columns = ((uint32_t)(layer->outputs * layer->w_planes) + 3u) / 4u * 4u;
  float x_sum = 0;
  for (int32_t o = 0; o < layer->outputs; ++o) y[o] = 0;
  for (int32_t i = 0; i < layer->x_planes; ++i, x += words) {
    const uint32_t total = ht_ones(x, words);
    ht_signs(x, words, total, w, columns, sums);
    ht_add_digit_f32(sums, layer->x_scales[i], layer->scales, layer->w_planes, layer->outputs, y);
    x_sum += layer->x_scales[i] * (float)(2 * (int32_t)total - n);
  }
  for (int32_t o = 0; o < layer->outputs; ++o) {
    float sum = y[o];
    if (layer->offsets) sum += layer->offsets[o] * (x_sum + (float)n * layer->x_offset);
    if (layer->sums) sum += layer->x_offset * layer->sums[o];
    if (layer->bias) sum += layer->bias[o];
    y[o] = sum;
  }
}
