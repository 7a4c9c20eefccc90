/* Levels of numbers: how many of these ascending thresholds are below; each level has a code. Keys
   are integers in the order of the numbers, because many processors compare no floats. */
typedef struct {
  const int32_t *thresholds; /* keys; the last ones may be beyond all numbers */
  const int8_t *codes;       /* or null: the level plus `first` */
  int32_t first;
  int32_t count; /* of thresholds: 0, 1, 3, 7, ... */
} ht_encoder;

static int32_t ht_key_of(float x) {
  int32_t key;
  memcpy(&key, &x, sizeof key);
  if (key < 0) key ^= 0x7FFFFFFF;
  return key > 0x7F800000 ? -2147483647 : key; /* NaN */
}
