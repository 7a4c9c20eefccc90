/* Weights of a float32 layer as codes of a power of two of bits. Neighbours of a row are in blocks
   with numbers of their own: coefficients of `planes` signs, or with a book of levels one scale. */
typedef struct {
  int32_t inputs, planes;
  int32_t log_bits;   /* of a stored code: 0 to 3 */
  int32_t block;      /* inputs that share numbers */
  int32_t row_blocks; /* blocks of a row; 0: all rows share one */
  const int8_t *codes; /* whole bytes for each row, the first code in the lowest bits */
  const float *scales;
  const float *offsets; /* [blocks], or null for none */
  const float *book;    /* [2^planes], or null */
} ht_code_rows;

/* The level of each code of a block. */
static void ht_levels_of_block(const ht_code_rows *w, int32_t block, float *levels) {
  const float *a = w->scales + block * (w->book ? 1 : w->planes);
  for (int32_t code = 0; code < 1 << w->planes; ++code) {
    float level = w->book ? a[0] * w->book[code] : (code & 1) != 0 ? a[0] : -a[0];
    for (int32_t j = 1; j < w->planes && !w->book; ++j) {
      level += (code >> j & 1) != 0 ? a[j] : -a[j];
    }
    if (w->offsets && !(w->book && w->offsets[block] == 0)) level += w->offsets[block];
    levels[code] = level;
  }
}

/* The weights of an output. `levels` is memory for the levels of a block. */
static void ht_decode_row_f32(const ht_code_rows *w, int32_t row, float *levels, float *y) {
  const int32_t shift = 3 - w->log_bits;
  const uint32_t mask = (1u << w->planes) - 1u;
  const int8_t *codes = w->codes + row * ((w->inputs + (1 << shift) - 1) >> shift);
  for (int32_t k = 0, left = 0; k < w->inputs; ++k, --left) {
    if (left == 0) {
      ht_levels_of_block(w, row * w->row_blocks + k / w->block, levels);
      left = w->block;
    }
    const uint32_t byte = (uint8_t)codes[k >> shift];
    y[k] = levels[byte >> ((k & ((1 << shift) - 1)) << w->log_bits) & mask];
  }
}
