/* needs: bits ones bit_conv */
/* y[o] from the counts of differing bits of a gathered window, in this order; base[o] has what does
   not depend on the inputs. */
static void ht_conv_bits_f32(const uint32_t *x, const uint32_t *w, const ht_bit_conv *layer,
                             const float *base, float *y) {
  const int32_t n = layer->inputs;
  const uint32_t words = ((uint32_t)n + 31u) / 32u;
  float x_sum = 0;
  for (int32_t d = 0; d < layer->digits; ++d) {
    int32_t digit = 0;
    for (int32_t k = 0; k < 2; ++k) {
      const uint32_t plane = (uint32_t)layer->planes[2 * d + k];
      digit += layer->multiples[2 * d + k] * (2 * (int32_t)ht_ones(x + plane * words, words) - n);
    }
    x_sum += layer->units[d] * (float)digit;
  }
  for (int32_t o = 0; o < layer->outputs; ++o) {
    const float *scales = layer->scales + o * layer->w_planes;
    uint32_t counts[64];
    float sum = base[o];
    ht_bits(x, (uint32_t)layer->x_planes, w, (uint32_t)layer->w_planes, words, 1, counts);
    w += (uint32_t)layer->w_planes * words;
    for (int32_t d = 0; d < layer->digits; ++d) {
      const int8_t *planes = layer->planes + 2 * d;
      const int8_t *multiples = layer->multiples + 2 * d;
      for (int32_t j = 0; j < layer->w_planes; ++j) {
        const int32_t first = n - 2 * (int32_t)counts[planes[0] * layer->w_planes + j];
        const int32_t second = n - 2 * (int32_t)counts[planes[1] * layer->w_planes + j];
        const int32_t product = multiples[0] * first + multiples[1] * second;
        sum += (layer->units[d] * scales[j]) * (float)product;
      }
    }
    if (layer->offsets) sum += layer->offsets[o] * x_sum;
    y[o] = sum;
  }
}
