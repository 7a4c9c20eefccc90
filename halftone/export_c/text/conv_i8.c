/* needs: inside sum_i8 dot_i8 dot_four_i8 four_codes */
/* A window inside the image: from which line to which, of which first input on, and how many. */
typedef struct {
  const int8_t *x; /* of the first line */
  int32_t x_step;  /* between lines of x */
  int32_t first, last;
  int32_t skipped, count; /* inputs of a line */
  int32_t line, window;   /* inputs of a whole line, of a whole window */
  int32_t is_whole;
} ht_lines;

/* The share of x = zero outside the image, which is part of the bias, of the weights of an output. */
static uint32_t ht_outside_i8(const ht_lines *at, const int8_t *w, int32_t zero) {
  const int32_t behind = at->skipped + at->count;
  int32_t sum = ht_sum_i8(w, at->first * at->line);
  sum += ht_sum_i8(w + at->last * at->line, at->window - at->last * at->line);
  if (at->count < at->line) {
    for (int32_t ky = at->first; ky < at->last; ++ky) {
      const int8_t *row = w + ky * at->line;
      sum += ht_sum_i8(row, at->skipped) + ht_sum_i8(row + behind, at->line - behind);
    }
  }
  return (uint32_t)(zero * sum);
}

/* The codes of all outputs of a window. */
static void ht_window_i8(const ht_lines *at, int32_t zero, int32_t outputs, const int8_t *w,
                         const int32_t *bias, const ht_codes *how, int8_t *y) {
  const int32_t fours = outputs - outputs % 4;
  int32_t o = 0;
  for (; o < fours; o += 4, w += 4 * at->window) {
    const int8_t *x = at->x;
    uint32_t sums[4];
    for (int32_t i = 0; i < 4; ++i) sums[i] = (uint32_t)bias[o + i];
    for (int32_t i = 0; i < 4 && !at->is_whole; ++i) {
      sums[i] += ht_outside_i8(at, w + i * at->window, zero);
    }
    for (int32_t ky = at->first; ky < at->last; ++ky, x += at->x_step) {
      ht_dot_four_i8(x, w + ky * at->line + at->skipped, at->window, at->count, sums);
    }
    ht_four_codes(sums, how, o, y);
    y += 4;
  }
  for (; o < outputs; ++o, w += at->window) {
    const int8_t *x = at->x;
    uint32_t sum = (uint32_t)bias[o];
    if (!at->is_whole) sum += ht_outside_i8(at, w, zero);
    for (int32_t ky = at->first; ky < at->last; ++ky, x += at->x_step) {
      sum += ht_dot_i8(x, w + ky * at->line + at->skipped, at->count);
    }
    *y++ = (int8_t)ht_code((int32_t)sum, how, o);
  }
}

/* A convolution without groups and dilation: each line of a window is one product. Outside of the
   image x is its zero point, which is part of the bias. Weights are [outputs, taps, channels]. */
static void ht_conv_i8(const int8_t *x, int32_t zero, const ht_window *at, const int8_t *w,
                       const int32_t *bias, const ht_codes *how, int8_t *y) {
  ht_lines lines;
  lines.x_step = at->width * at->channels;
  lines.line = at->kernel_width * at->channels;
  lines.window = at->kernel_height * lines.line;
  for (int32_t p = 0; p < at->out_height * at->out_width; ++p, y += at->outputs) {
    const int32_t top = p / at->out_width * at->stride_y - at->pad_top;
    const int32_t left = p % at->out_width * at->stride_x - at->pad_left;
    int32_t first_x, last_x;
    ht_inside(top, 1, at->kernel_height, at->height, &lines.first, &lines.last);
    ht_inside(left, 1, at->kernel_width, at->width, &first_x, &last_x);
    lines.skipped = first_x * at->channels;
    lines.count = (last_x - first_x) * at->channels;
    lines.is_whole = lines.count == lines.line && lines.last - lines.first == at->kernel_height;
    lines.x = x + ((top + lines.first) * at->width + left + first_x) * at->channels;
    ht_window_i8(&lines, zero, at->outputs, w, bias, how, y);
  }
}
