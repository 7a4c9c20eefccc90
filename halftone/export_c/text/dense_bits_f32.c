/* needs: bits plane_sums_f32 bit_layer */
/* y[o] from the counts of differing bits of planes, in this order. */
static void ht_dense_bits_f32(const uint32_t *x, const uint32_t *w, const ht_bit_layer *layer,
                              float *y) {
  const int32_t n = layer->inputs;
  const uint32_t words = ((uint32_t)n + 31u) / 32u;
  uint32_t totals[8];
  const float x_sum = ht_plane_sums_f32(x, layer->x_planes, n, layer->x_scales, totals);
  for (int32_t o = 0; o < layer->outputs; ++o) {
    const float *scales = layer->scales + o * layer->w_planes;
    uint32_t counts[64];
    float sum = 0;
    ht_bits(x, (uint32_t)layer->x_planes, w, (uint32_t)layer->w_planes, words, 1, counts);
    w += (uint32_t)layer->w_planes * words;
    for (int32_t i = 0; i < layer->x_planes; ++i) {
      for (int32_t j = 0; j < layer->w_planes; ++j) {
        const int32_t product = n - 2 * (int32_t)counts[i * layer->w_planes + j];
        sum += (layer->x_scales[i] * scales[j]) * (float)product;
      }
    }
    if (layer->offsets) sum += layer->offsets[o] * (x_sum + (float)n * layer->x_offset);
    if (layer->sums) sum += layer->x_offset * layer->sums[o];
    if (layer->bias) sum += layer->bias[o];
    y[o] = sum;
  }
}
