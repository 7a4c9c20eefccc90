/* Levels of numbers: how many of these ascending thresholds are below; each level has a code. Keys
   are integers in the order of the numbers, because many processors compare no floats. */
typedef struct {
  const int32_t *thresholds; /* keys */
  const int8_t *codes;       /* or null: the level plus `first` */
  int32_t first;
  int32_t count; /* of thresholds */
} ht_encoder;

static int8_t ht_code_of(float x, const ht_encoder *how) {
  int32_t low = 0, high = how->count, key;
  memcpy(&key, &x, sizeof key);
  if ((key & 0x7FFFFFFF) > 0x7F800000) high = 0; /* NaN */
  if (key < 0) key ^= 0x7FFFFFFF;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    if (key > how->thresholds[middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return how->codes ? how->codes[low] : (int8_t)(how->first + low);
}
