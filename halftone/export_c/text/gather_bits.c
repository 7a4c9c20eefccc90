/* needs: window */
/* Copies `count` bits behind the `at` bits that `to` has; the word at its end is zero beyond them. */
static void ht_append_bits(uint32_t *to, uint32_t at, const uint32_t *from, uint32_t first,
                           uint32_t count) {
  while (count != 0) {
    const uint32_t some = count < 32u ? count : 32u;
    const uint32_t shift = first & 31u;
    uint32_t bits = from[first >> 5] >> shift;
    if (shift != 0 && shift + some > 32u) bits |= from[(first >> 5) + 1u] << (32u - shift);
    if (some < 32u) bits &= (1u << some) - 1u;
    if ((at & 31u) == 0) {
      to[at >> 5] = bits;
    } else {
      to[at >> 5] |= bits << (at & 31u);
      if ((at & 31u) + some > 32u) to[(at >> 5) + 1u] = bits >> (32u - (at & 31u));
    }
    at += some;
    first += some;
    count -= some;
  }
}

/* Appends `count` zeros. */
static void ht_append_zeros(uint32_t *to, uint32_t at, uint32_t count) {
  for (uint32_t word = (at + 31u) >> 5; word < (at + count + 31u) >> 5; ++word) to[word] = 0;
}

/* The channels [first, first + count) of the window of output pixel (oy, ox), zero outside the image.
 * x: [pixels][planes], `plane_bits` from plane to plane; to: [planes][words], tap by tap without
 * gaps. */
static void ht_gather_bits(const uint32_t *x, uint32_t planes, uint32_t plane_bits,
                           const ht_window *at, int32_t oy, int32_t ox, uint32_t first,
                           uint32_t count, uint32_t *to) {
  const int32_t top = oy * at->stride_y - at->pad_top;
  const int32_t left = ox * at->stride_x - at->pad_left;
  const uint32_t taps = (uint32_t)(at->kernel_height * at->kernel_width);
  for (uint32_t plane = 0; plane < planes; ++plane, to += (taps * count + 31u) / 32u) {
    uint32_t bits = 0;
    for (int32_t ky = 0; ky < at->kernel_height; ++ky) {
      const int32_t row = top + ky * at->dilation_y;
      for (int32_t kx = 0; kx < at->kernel_width; ++kx, bits += count) {
        const int32_t column = left + kx * at->dilation_x;
        if (row < 0 || row >= at->height || column < 0 || column >= at->width) {
          ht_append_zeros(to, bits, count);
        } else {
          const uint32_t pixel = (uint32_t)(row * at->width + column);
          ht_append_bits(to, bits, x, (pixel * planes + plane) * plane_bits + first, count);
        }
      }
    }
  }
}
