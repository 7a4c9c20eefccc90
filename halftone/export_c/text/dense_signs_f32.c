/* needs: signs plane_sums_f32 bit_layer add_digit_f32 */
/* y[o] of the planes of a row, plane by plane, sixteen outputs at a time, whose planes `sums` has. */
static void ht_dense_signs_f32(const uint32_t *x, const uint32_t *w, const ht_bit_layer *layer,
                               int32_t *sums, float *y) {
  const int32_t n = layer->inputs, planes = layer->w_planes;
  const uint32_t words = ((uint32_t)n + 31u) / 32u;
  uint32_t totals[8];
  const float x_sum = ht_plane_sums_f32(x, layer->x_planes, n, layer->x_scales, totals);
  for (int32_t o = 0; o < layer->outputs; ++o) {
    if (o % 16 == 0) {
      const int32_t some = layer->outputs - o < 16 ? layer->outputs - o : 16;
      const uint32_t columns = ((uint32_t)(some * planes) + 3u) / 4u * 4u;
      for (int32_t i = 0; i < some; ++i) y[o + i] = 0;
      for (int32_t i = 0; i < layer->x_planes; ++i) {
        ht_signs(x + (uint32_t)i * words, words, totals[i], w, columns, sums);
        ht_add_digit_f32(sums, layer->x_scales[i], layer->scales + o * planes, planes, some, y + o);
      }
      w += columns / 4u * (2u + 4u * words);
    }
    float sum = y[o];
    if (layer->offsets) sum += layer->offsets[o] * (x_sum + (float)n * layer->x_offset);
    if (layer->sums) sum += layer->x_offset * layer->sums[o];
    if (layer->bias) sum += layer->bias[o];
    y[o] = sum;
  }
}
