/* Levels of numbers: how many of these ascending thresholds are below; each level has a code. Keys
   are integers in the order of the numbers, because many processors compare no floats. */
typedef struct {
  const int32_t *thresholds; /* keys; the last ones may be beyond all numbers */
  const int8_t *codes;       /* or null: the level plus `first` */
  int32_t first;
  int32_t count; /* of thresholds: 0, 1, 3, 7, ... */
} ht_encoder;

static int8_t ht_code_of(float x, const ht_encoder *how) {
  const int32_t *above = how->thresholds;
  int32_t key;
  memcpy(&key, &x, sizeof key);
  if (key < 0) key ^= 0x7FFFFFFF;
  if (key > 0x7F800000) key = -2147483647; /* NaN */
  for (int32_t step = (how->count + 1) / 2; step != 0; step >>= 1) {
    if (key > above[step - 1]) above += step;
  }
  const int32_t level = (int32_t)(above - how->thresholds);
  return how->codes ? how->codes[level] : (int8_t)(how->first + level);
}
