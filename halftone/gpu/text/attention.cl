// Rotary positions, attention over the caches of caches.cl: kernels/attention.
#define THREADS 128

// Rotates blocks of numbers of rows, as numerics::rotate_blocks(); x may be y. Group (b, r) has
// block b of row r.
KERNEL rotate_blocks(GLOBAL const float* x, GLOBAL float* y, uint cols, uint block, float factor) {
  size_t begin = (size_t)GROUP_Y() * cols + GROUP_X() * block;
  for (uint i = LOCAL_ID(); i < block; i += THREADS) y[begin + i] = x[begin + i];
  BARRIER();
  for (uint apart = 1; apart < block; apart *= 2) {
    for (uint pair = LOCAL_ID(); pair < block / 2; pair += THREADS) {
      size_t first = begin + pair / apart * 2 * apart + pair % apart;
      float a = y[first];
      float b = y[first + apart];
      y[first] = a + b;
      y[first + apart] = a - b;
    }
    BARRIER();
  }
  for (uint i = LOCAL_ID(); i < block; i += THREADS) {
    float turned = y[begin + i] * factor;
    y[begin + i] = is_nan(turned) ? QUIET_NAN : turned;
  }
}

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

#if defined(INTEGER_STEPS) || defined(CACHE_INT4)
#define CACHE_ROTATED
#endif
// Stores rows [N, heads size] in a cache, after rotate_blocks() with CACHE_ROTATED. count: then of
// heads of rows, else of numbers.
KERNEL append(GLOBAL const float* x, GLOBAL const int* slots, GLOBAL const int* positions,
              GLOBAL cached_t* cache, uint count, uint heads, uint size, uint head_numbers,
              uint context, uint holds_keys) {
  uint at = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (at >= count) return;
#ifdef CACHE_ROTATED
  uint of_row = heads;
  uint head = at % heads;
#else
  uint of_row = heads * size;
  uint head = at / size % heads;
#endif
  uint row = at / of_row;
  uint token = (uint)positions[row];
  uint row_size = rounded_up(size);
  GLOBAL cached_t* to = cache + (size_t)((uint)slots[row] * heads + head) * head_numbers;
#if defined(CACHE_INT4)
  append_nibbles(x + (size_t)at * size, to, token, size, context, holds_keys);
#elif defined(INTEGER_STEPS)
  GLOBAL const float* from = x + (size_t)at * size;
  Rounding rounding = rounding_of(largest_of(from, size), INTEGER_STEPS);
  store_integers(from, rounding, to, token, size, holds_keys);
  scales_of(to, row_size, context)[token] = rounding.scale;
#else
  uint i = at % size;
  STORE(to, holds_keys ? key_index(token, i, row_size) : value_index(token, i, row_size), x[at]);
#endif
}

#define PARTS 16
#define MAX_HEAD 512  // numbers of a head that place_heads() takes

#ifndef CACHE_ROTATED
typedef struct {
  double lanes[PARTS];
  float head[MAX_HEAD];
  float turned[MAX_HEAD];
} HeadMemory;

// Normalizes a head of some numbers, as normalize.cl does, and multiplies it by a gain.
FUNC void normalize_head(TO_SHARED HeadMemory* memory, GLOBAL const float* gain, uint size,
                         float epsilon) {
  uint lane = LOCAL_ID();
  if (lane < PARTS) {
    double sum = 0;
    for (uint i = lane; i < size; i += PARTS) {
      sum += (double)memory->head[i] * (double)memory->head[i];
    }
    memory->lanes[lane] = sum;
  }
  BARRIER();
  for (uint apart = PARTS / 2; apart > 0; apart /= 2) {
    if (lane < apart) memory->lanes[lane] += memory->lanes[lane + apart];
    BARRIER();
  }
  double factor = 1 / sqrt(memory->lanes[0] / (double)size + (double)epsilon);
  for (uint i = LOCAL_ID(); i < size; i += LOCAL_SIZE()) {
    memory->head[i] = (float)((double)memory->head[i] * factor) * gain[i];
  }
  BARRIER();
}

// Number i of a head, turned by the angles of a position.
FUNC float turned(TO_SHARED const float* head, uint i, GLOBAL const float* cosines,
                  GLOBAL const float* sines, uint position, uint dims, uint are_halves) {
  if (i >= dims) return head[i];
  uint pairs = dims / 2;
  uint pair = are_halves ? i % pairs : i / 2;
  uint is_second = are_halves ? i / pairs : i % 2;
  uint apart = are_halves ? pairs : 1;
  uint first = i - is_second * apart;
  float a = head[first];
  float b = head[first + apart];
  float c = cosines[position * pairs + pair];
  float s = sines[position * pairs + pair];
  return is_second ? a * s + b * c : a * c - b * s;
}

// Stores a head of a cache. to: the cache of its sequence and head.
FUNC void store_head(TO_SHARED const float* head, GLOBAL cached_t* to, uint token, uint size,
                     uint holds_keys) {
  uint row_size = rounded_up(size);
  for (uint i = LOCAL_ID(); i < size; i += LOCAL_SIZE()) {
    uint index = holds_keys ? key_index(token, i, row_size) : value_index(token, i, row_size);
    STORE(to, index, head[i]);
  }
}

// Caches of floats only. Block (h, r) has head h of row r, of the heads of queries, then those of
// keys, then those of values: norms and turns queries and keys, and stores keys and values in their
// caches. Row r of each lies at begin + r stride. norms: 1 for queries, 2 for keys.
KERNEL place_heads(GLOBAL const float* q, uint q_begin, uint q_stride, GLOBAL const float* k,
                   uint k_begin, uint k_stride, GLOBAL const float* v, uint v_begin, uint v_stride,
                   GLOBAL const int* slots, GLOBAL const int* positions,
                   GLOBAL const float* cosines, GLOBAL const float* sines,
                   GLOBAL const float* q_gain, GLOBAL const float* k_gain, GLOBAL float* queries,
                   GLOBAL cached_t* keys, GLOBAL cached_t* values, uint heads, uint kv_heads,
                   uint key_size, uint value_size, uint key_numbers, uint value_numbers,
                   uint dims, uint are_halves, uint norms, float q_epsilon, float k_epsilon) {
  SHARED HeadMemory memory;
  uint head = GROUP_X();
  uint row = GROUP_Y();
  uint is_key = head >= heads;
  uint is_value = head >= heads + kv_heads;
  uint kv_head = is_value ? head - heads - kv_heads : head - heads;
  uint size = is_value ? value_size : key_size;
  GLOBAL const float* from = q + row * q_stride + q_begin + head * size;
  if (is_key) from = k + row * k_stride + k_begin + kv_head * size;
  if (is_value) from = v + row * v_stride + v_begin + kv_head * size;
  uint position = (uint)positions[row];
  for (uint i = LOCAL_ID(); i < size; i += LOCAL_SIZE()) memory.head[i] = from[i];
  BARRIER();
  if (!is_value && (norms >> is_key & 1u)) {
    normalize_head(&memory, is_key ? k_gain : q_gain, size, is_key ? k_epsilon : q_epsilon);
  }
  uint turned_dims = is_value ? 0 : dims;
  for (uint i = LOCAL_ID(); i < size; i += LOCAL_SIZE()) {
    memory.turned[i] =
        turned(memory.head, i, cosines, sines, position, turned_dims, are_halves);
  }
  BARRIER();
  if (!is_key) {
    GLOBAL float* to = queries + (row * heads + head) * size;
    for (uint i = LOCAL_ID(); i < size; i += LOCAL_SIZE()) to[i] = memory.turned[i];
    return;
  }
  size_t cache = (size_t)((uint)slots[row] * kv_heads + kv_head);
  if (is_value) {
    store_head(memory.turned, values + cache * value_numbers, position, size, 0);
  } else {
    store_head(memory.turned, keys + cache * key_numbers, position, size, 1);
  }
}
#endif

#define WEIGHT_GROUP 32

// The score of a token before its scale: with integers their sum times the scale of the key.
FUNC float product_with_key(GLOBAL const float* query, GLOBAL const cached_t* key, uint token,
                            uint size, uint context, Rounding rounding) {
  uint row_size = rounded_up(size);
#ifdef INTEGER_STEPS
  int sum = 0;
  for (uint i = 0; i < size; ++i) {
    sum += rounded(query[i], rounding) * key_integer(key, token, i, row_size);
  }
  return (float)sum * scales_of(key, row_size, context)[token];
#else
  float sum = 0;
  for (uint i = 0; i < size; ++i) {
#ifdef CACHE_INT4
    sum = sum + query[i] * key_number(key, token, i, size, context);
#else
    sum = sum + query[i] * LOAD(key, key_index(token, i, row_size));
#endif
  }
  return sum;
#endif
}

#ifdef INTEGER_STEPS
// Rounds the weights of a group of tokens, times the scales of their values, to integers, in place.
FUNC float round_group(GLOBAL float* score, GLOBAL const float* scales, uint begin, uint end) {
  for (uint t = begin; t < end; ++t) score[t] = score[t] * scales[t];
  Rounding rounding = rounding_of(largest_of(score + begin, end - begin), 32767.0f);
  for (uint t = begin; t < end; ++t) score[t] = (float)rounded(score[t], rounding);
  return rounding.scale;
}
#endif

// Block (h, r) has head h of row r. scores: [rows, heads, score_size], for each token its weight,
// then for each group of 32 tokens a scale. Scores and weights are computed in any order; weight t
// goes to partial sum t mod 16 in ascending order, and sums of values run over the tokens in order.
// has_sinks: whether sinks are given. query_steps: of rounded queries. With CACHE_ROTATED queries
// are rotated, and so is y.
KERNEL attend(GLOBAL const float* queries, GLOBAL const cached_t* keys,
              GLOBAL const cached_t* values, GLOBAL const int* slots, GLOBAL const int* positions,
              GLOBAL const float* sinks, GLOBAL float* scores, GLOBAL float* y, uint heads,
              uint kv_heads, uint key_size, uint value_size, uint key_numbers, uint value_numbers,
              uint context, uint score_size, uint window, float scale, float softcap,
              float query_steps, uint has_sinks) {
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
  GLOBAL float* score = scores + (size_t)(row * heads + head) * score_size;
  uint value_row = rounded_up(value_size);
  Rounding rounding;
  rounding.factor = 0;
#ifdef INTEGER_STEPS
  rounding = rounding_of(largest_of(query, key_size), query_steps);
  scale = scale * rounding.scale;
#endif

  float largest = -INFINITE;
  for (uint t = first + thread; t <= position; t += THREADS) {
    float s = product_with_key(query, key, t, key_size, context, rounding) * scale;
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
#ifdef INTEGER_STEPS
  GLOBAL const float* value_scales = scales_of(value, value_row, context);
  uint first_group = first / WEIGHT_GROUP;
  uint last_group = position / WEIGHT_GROUP;
  for (uint g = first_group + thread; g <= last_group; g += THREADS) {
    uint begin = g == first_group ? first : g * WEIGHT_GROUP;
    uint end = g == last_group ? position + 1 : (g + 1) * WEIGHT_GROUP;
    score[context + g] = round_group(score, value_scales, begin, end);
  }
  BARRIER();
#endif
  for (uint i = thread; i < value_size; i += THREADS) {
    float sum = 0;
#ifdef INTEGER_STEPS
    for (uint g = first_group; g <= last_group; ++g) {
      uint end = g == last_group ? position + 1 : (g + 1) * WEIGHT_GROUP;
      int exact = 0;
      for (uint t = g == first_group ? first : g * WEIGHT_GROUP; t < end; ++t) {
        exact += (int)score[t] * value_integer(value, t, i, value_row);
      }
      sum = sum + (float)exact * score[context + g];
    }
#else
    for (uint t = first; t <= position; ++t) {
#ifdef CACHE_INT4
      sum = sum + score[t] * value_number(value, t, i, value_size, context);
#else
      sum = sum + score[t] * LOAD(value, value_index(t, i, value_row));
#endif
    }
#endif
    float mean = divided(sum, total);
    y[(row * heads + head) * value_size + i] = is_nan(mean) ? QUIET_NAN : mean;
  }
}
