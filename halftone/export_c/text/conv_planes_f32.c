/* needs: planes bit_conv add_digit_f32 */
/* y[o] of a gathered window, digit by digit. `digits` has eight words of each word of a plane, `sums`
   the planes of all outputs, up to a multiple of four. */
static void ht_conv_planes_f32(const uint32_t *x, const uint32_t *w, const ht_bit_conv *layer,
                               const float *base, uint32_t *digits, int32_t *sums, float *y) {
  const uint32_t words = ((uint32_t)layer->inputs + 31u) / 32u;
  const uint32_t columns = ((uint32_t)(layer->outputs * layer->w_planes) + 3u) / 4u * 4u;
  float x_sum = 0;
  for (int32_t o = 0; o < layer->outputs; ++o) y[o] = base[o];
  for (int32_t d = 0; d < layer->digits; ++d) {
    const int8_t *planes = layer->planes + 2 * d;
    const int8_t *multiples = layer->multiples + 2 * d;
    const int32_t reach = multiples[0] + multiples[1];
    const uint32_t total = ht_digits(x + (uint32_t)planes[0] * words,
                                     x + (uint32_t)planes[1] * words, words, multiples, digits);
    ht_planes(digits, words, (uint32_t)reach, total, w, columns, sums);
    ht_add_digit_f32(sums, layer->units[d], layer->scales, layer->w_planes, layer->outputs, y);
    x_sum += layer->units[d] * (float)(2 * (int32_t)total - reach * layer->inputs);
  }
  if (!layer->offsets) return;
  for (int32_t o = 0; o < layer->outputs; ++o) y[o] += layer->offsets[o] * x_sum;
}
