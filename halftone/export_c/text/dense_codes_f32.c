/* needs: decode_row_f32 */
/* Adds to y[r][o], in the order of the inputs, the products with weights that are decoded output by
   output to `weights`. */
static void ht_dense_codes_f32(const float *x, int32_t rows, int32_t outputs, const ht_code_rows *w,
                               float *levels, float *weights, float *y) {
  for (int32_t o = 0; o < outputs; ++o) {
    ht_decode_row_f32(w, o, levels, weights);
    for (int32_t r = 0; r < rows; ++r) {
      const float *row = x + r * w->inputs;
      float sum = y[r * outputs + o];
      for (int32_t k = 0; k < w->inputs; ++k) sum += row[k] * weights[k];
      y[r * outputs + o] = sum;
    }
  }
}
