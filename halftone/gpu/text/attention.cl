// Rotary positions, caches of keys and values, attention: kernels/attention. A cache has, for each
// sequence and head, `head_bytes` bytes: keys in panels of 16 tokens, values in rows, row_size
// numbers each, floats of 32 bits or, with CACHE_HALF, of 16.
#define PANEL 16
#ifdef CACHE_HALF
typedef ushort cached_t;
#define LOAD(p, i) load_half(p, i)
#define STORE(p, i, x) store_half(p, i, x)
#else
typedef float cached_t;
#define LOAD(p, i) (p)[i]
#define STORE(p, i, x) (p)[i] = (x)
#endif
FUNC uint row_size_of(uint size) { return (size + PANEL - 1) / PANEL * PANEL; }

// Turns pair i of each head of a row; copies numbers from dims on. count: of all numbers of y.
KERNEL rotate_heads(GLOBAL const float* x, GLOBAL const int* positions, GLOBAL const float* cosines,
              GLOBAL const float* sines, GLOBAL float* y, uint count, uint cols, uint size,
              uint dims, uint are_halves) {
  uint at = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (at >= count) return;
  uint i = at % cols % size;
  if (i >= dims) {
    y[at] = x[at];
    return;
  }
  uint pairs = dims / 2;
  uint pair = are_halves ? i % pairs : i / 2;
  uint is_second = are_halves ? i / pairs : i % 2;
  uint apart = are_halves ? pairs : 1;
  uint first = at - is_second * apart;
  float a = x[first];
  float b = x[first + apart];
  uint angle = (uint)positions[at / cols] * pairs + pair;
  float c = cosines[angle];
  float s = sines[angle];
  y[at] = is_second ? a * s + b * c : a * c - b * s;
}

// Stores rows [N, heads size] in a cache.
KERNEL append(GLOBAL const float* x, GLOBAL const int* slots, GLOBAL const int* positions,
              GLOBAL cached_t* cache, uint count, uint heads, uint size, uint head_numbers,
              uint holds_keys) {
  uint at = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (at >= count) return;
  uint row = at / (heads * size);
  uint head = at / size % heads;
  uint i = at % size;
  uint token = (uint)positions[row];
  GLOBAL cached_t* to = cache + (size_t)((uint)slots[row] * heads + head) * head_numbers;
  uint row_size = row_size_of(size);
  uint index = holds_keys ? token / PANEL * PANEL * row_size + i * PANEL + token % PANEL
                          : token * row_size + i;
  STORE(to, index, x[at]);
}

#define THREADS 128
#define PARTS 16

// Block (h, r) has head h of row r. scores: [rows, heads, context]. Scores and weights are computed
// in any order; weight t goes to partial sum t mod 16 in ascending order, and sums of values run
// over the tokens in order. has_sinks: whether sinks are given.
KERNEL attend(GLOBAL const float* queries, GLOBAL const cached_t* keys,
              GLOBAL const cached_t* values, GLOBAL const int* slots, GLOBAL const int* positions,
              GLOBAL const float* sinks, GLOBAL float* scores, GLOBAL float* y, uint heads,
              uint kv_heads, uint key_size, uint value_size, uint key_numbers, uint value_numbers,
              uint context, uint window, float scale, float softcap, uint has_sinks) {
  SHARED float shared[THREADS];
  uint thread = LOCAL_ID();
  uint head = GROUP_X();
  uint row = GROUP_Y();
  uint position = (uint)positions[row];
  uint first = window == 0 || position < window ? 0 : position + 1 - window;
  uint kv_head = (uint)slots[row] * kv_heads + head / (heads / kv_heads);
  GLOBAL const float* query = queries + (row * heads + head) * key_size;
  GLOBAL const cached_t* key = keys + (size_t)kv_head * key_numbers;
  GLOBAL const cached_t* value = values + (size_t)kv_head * value_numbers;
  GLOBAL float* score = scores + (size_t)(row * heads + head) * context;
  uint key_row = row_size_of(key_size);
  uint value_row = row_size_of(value_size);

  float largest = -INFINITE;
  for (uint t = first + thread; t <= position; t += THREADS) {
    GLOBAL const cached_t* panel = key + t / PANEL * PANEL * key_row + t % PANEL;
    float sum = 0;
    for (uint i = 0; i < key_size; ++i) sum = sum + query[i] * LOAD(panel, i * PANEL);
    float s = sum * scale;
    if (softcap != 0) s = softcap * tanh_of(divided(s, softcap));
    score[t] = s;
    largest = s > largest ? s : largest;
  }
  shared[thread] = largest;
  BARRIER();
  for (uint i = 0; i < THREADS; ++i) largest = shared[i] > largest ? shared[i] : largest;
  BARRIER();
  for (uint t = first + thread; t <= position; t += THREADS) score[t] = exp_of(score[t] - largest);
  BARRIER();
  if (thread < PARTS) {
    float part = 0;
    uint t = first + (thread + PARTS - first % PARTS) % PARTS;
    for (; t <= position; t += PARTS) part = part + score[t];
    shared[thread] = part;
  }
  BARRIER();
  for (uint apart = PARTS / 2; apart != 0; apart /= 2) {
    if (thread < apart) shared[thread] = shared[thread] + shared[thread + apart];
    BARRIER();
  }
  float total = shared[0];
  if (has_sinks) total = total + exp_of(sinks[head] - largest);
  for (uint i = thread; i < value_size; i += THREADS) {
    float sum = 0;
    for (uint t = first; t <= position; ++t) {
      sum = sum + score[t] * LOAD(value, t * value_row + i);
    }
    float mean = divided(sum, total);
    y[(row * heads + head) * value_size + i] = is_nan(mean) ? QUIET_NAN : mean;
  }
}
