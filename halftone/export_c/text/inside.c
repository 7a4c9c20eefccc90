/* needs: window */
/* The taps from *first to before *last lie inside the image: position 0 <= start + tap dilation <
   extent. */
static void ht_inside(int32_t start, int32_t dilation, int32_t taps, int32_t extent, int32_t *first,
                      int32_t *last) {
  int32_t tap = 0;
  while (tap < taps && start + tap * dilation < 0) ++tap;
  *first = tap;
  while (tap < taps && start + tap * dilation < extent) ++tap;
  *last = tap;
}
