/* Levels of numbers: how many of these ascending thresholds are below; each level has a code. */
typedef struct {
  const float *thresholds;
  const int8_t *codes; /* or null: the level plus `first` */
  int32_t first;
  int32_t count; /* of thresholds */
} ht_encoder;

static int8_t ht_code_of(float x, const ht_encoder *how) {
  int32_t low = 0, high = how->count;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    if (x > how->thresholds[middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return how->codes ? how->codes[low] : (int8_t)(low + how->first);
}
