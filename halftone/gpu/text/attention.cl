// Rotary positions, caches of keys and values, attention: kernels/attention. A cache has, for each
// sequence and head, keys in panels of 16 tokens or values in rows, row_size numbers each: floats of
// 32 bits, with CACHE_HALF of 16, with CACHE_INT8 integers in pairs and behind them a float scale
// for each token, with CACHE_INT4 two codes in a byte and behind them groups, as cache.h says.
#define PANEL 16
#if defined(CACHE_HALF)
typedef ushort cached_t;
#define LOAD(p, i) load_half(p, i)
#define STORE(p, i, x) store_half(p, i, x)
#elif defined(CACHE_INT8)
typedef schar cached_t;
#define LOAD(p, i) (int)(p)[i]
#elif defined(CACHE_INT4)
typedef uchar cached_t;
#else
typedef float cached_t;
#define LOAD(p, i) (p)[i]
#define STORE(p, i, x) (p)[i] = (x)
#endif
FUNC uint rounded_up(uint count) { return (count + PANEL - 1) / PANEL * PANEL; }
FUNC uint key_index(uint token, uint i, uint row_size) {
  uint panel = token / PANEL * PANEL * row_size;
#ifdef CACHE_INT8
  return panel + (i / 2 * PANEL + token % PANEL) * 2 + i % 2;
#else
  return panel + i * PANEL + token % PANEL;
#endif
}
FUNC uint value_index(uint token, uint i, uint row_size) {
#ifdef CACHE_INT8
  return token / 2 * 2 * row_size + 2 * i + token % 2;
#else
  return token * row_size + i;
#endif
}

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

#ifdef CACHE_INT4
// numerics/rotated_codes.h.
#define GROUP 32
#define LANES 8
#define LARGEST_CODE 15.0f
#define NO_NUMBER 255u
FUNC float unit_of(uint code) {
  return code == NO_NUMBER ? QUIET_NAN : FLOAT_OF((code + (127 - 20) * 8) << 20);
}
FUNC float first_of(float unit, schar offset) { return unit * 0.125f * (float)offset; }
FUNC uint group_count(uint size) { return (size + GROUP - 1) / GROUP; }
// The unit code of a group of a token, from the groups of a head; its offset is 16 bytes behind.
FUNC uint group_index(uint token, uint i, uint size) {
  return token / PANEL * PANEL * 2 * group_count(size) + i / GROUP * 2 * PANEL + token % PANEL;
}
FUNC float decoded(GLOBAL const uchar* head, GLOBAL const uchar* groups, uint byte, uint is_upper,
                   uint group) {
  float unit = unit_of(groups[group]);
  uint code = is_upper ? (uint)head[byte] >> 4 : head[byte] & 15u;
  return (float)code * unit + first_of(unit, (schar)groups[group + PANEL]);
}
FUNC float key_number(GLOBAL const uchar* head, uint token, uint i, uint size, uint context) {
  uint row_size = rounded_up(size);
  uint byte = token / PANEL * PANEL * (row_size / 2) + i / 2 * PANEL + token % PANEL;
  return decoded(head, head + rounded_up(context) * (row_size / 2), byte, i % 2,
                 group_index(token, i, size));
}
FUNC float value_number(GLOBAL const uchar* head, uint token, uint i, uint size, uint context) {
  uint row_size = rounded_up(size);
  return decoded(head, head + rounded_up(context) * (row_size / 2),
                 token * (row_size / 2) + i / 16 * 8 + i % 8, i % 16 / 8,
                 group_index(token, i, size));
}

typedef struct {
  uint unit_code;
  schar offset;
  float error;
} Group;
FUNC float limited(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
FUNC float code_of(float x, float first, float per_number) {
  return limited(ROUND((x - first) * per_number), 0.0f, LARGEST_CODE);
}
FUNC uint unit_code_of(float unit) {
  uint upper = (BITS_OF(unit) + 0xFFFFFu) >> 20;
  uint code = upper < (127 - 20) * 8 ? 0 : upper - (127 - 20) * 8;
  return code < NO_NUMBER - 1 ? code : NO_NUMBER - 1;
}
FUNC Group group_of_range(const float* x, float middle, float range) {
  Group group;
  float up = divided(middle, 127 / 8.0f + 7.5f);
  float down = divided(middle, -128 / 8.0f + 7.5f);
  float reached = up > down ? up : down;
  float step = divided(range, LARGEST_CODE);
  group.unit_code = unit_code_of(step > reached ? step : reached);
  float unit = unit_of(group.unit_code);
  float per_number = divided(1.0f, unit);
  float code = range == 0 ? 8.0f : 7.5f;
  group.offset = (schar)limited(ROUND((middle * per_number - code) * 8), -128.0f, 127.0f);
  float first = first_of(unit, group.offset);
  float errors[LANES];
  for (uint l = 0; l < LANES; ++l) errors[l] = 0;
  for (uint i = 0; i < GROUP; ++i) {
    float error = x[i] - (code_of(x[i], first, per_number) * unit + first);
    errors[i % LANES] += error * error;
  }
  for (uint apart = LANES / 2; apart != 0; apart /= 2) {
    for (uint l = 0; l < apart; ++l) errors[l] += errors[l + apart];
  }
  group.error = errors[0];
  return group;
}
// The best group for `count` numbers, whose copies with a limit go to x.
FUNC Group best_group(GLOBAL const float* from, uint count, float* x) {
  Group best;
  float least = INFINITE;
  float largest = -INFINITE;
  int has_numbers = 1;
  for (uint i = 0; i < GROUP; ++i) {
    float number = from[i < count ? i : count - 1];
    has_numbers = has_numbers && is_finite(number);
    x[i] = limited(number, -28672.0f, 28672.0f);
    least = x[i] < least ? x[i] : least;
    largest = x[i] > largest ? x[i] : largest;
  }
  best.unit_code = NO_NUMBER;
  best.offset = 0;
  if (!has_numbers) return best;
  float middle = 0.5f * (least + largest);
  float range = largest - least;
  best = group_of_range(x, middle, range);
  for (uint i = 0; i < 3; ++i) {
    Group shorter = group_of_range(x, middle, (i == 0 ? 0.95f : i == 1 ? 0.9f : 0.85f) * range);
    if (shorter.error < best.error) best = shorter;
  }
  return best;
}
// Stores a head of a token.
FUNC void append_nibbles(GLOBAL const float* from, GLOBAL uchar* head, uint token, uint size,
                         uint context, uint holds_keys) {
  uint row_bytes = rounded_up(size) / 2;
  GLOBAL uchar* groups = head + rounded_up(context) * row_bytes;
  float x[GROUP];
  for (uint begin = 0; begin < size; begin += GROUP) {
    Group group = best_group(from + begin, size - begin, x);
    groups[group_index(token, begin, size)] = (uchar)group.unit_code;
    groups[group_index(token, begin, size) + PANEL] = (uchar)group.offset;
    float unit = unit_of(group.unit_code);
    float first = first_of(unit, group.offset);
    float per_number = divided(1.0f, unit);
    uint end = begin + GROUP < rounded_up(size) ? begin + GROUP : rounded_up(size);
    uint apart = holds_keys ? 1 : 8;  // numbers of a byte
    for (uint i = begin; i < end; ++i) {
      if (i / apart % 2 != 0) continue;
      uint codes = 0;
      for (uint each = 0; each < 2; ++each) {
        uint at = i + each * apart;
        int has_code = at < size && group.unit_code != NO_NUMBER;
        if (has_code) codes |= (uint)code_of(x[at - begin], first, per_number) << (4 * each);
      }
      uint byte = holds_keys ? token / PANEL * PANEL * row_bytes + i / 2 * PANEL + token % PANEL
                             : token * row_bytes + i / 16 * 8 + i % 8;
      head[byte] = (uchar)codes;
    }
  }
}
#endif

// The largest magnitude of numbers; infinite if one is infinite or NaN.
FUNC float largest_of(GLOBAL const float* x, uint count) {
  float largest = 0;
  for (uint i = 0; i < count; ++i) {
    float magnitude = is_finite(x[i]) ? MAGNITUDE(x[i]) : INFINITE;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}
// How numbers are rounded to `steps` integers on either side of zero: factor 0 gives zeros.
typedef struct {
  float factor;
  float scale;
} Rounding;
FUNC Rounding rounding_of(float largest, float steps) {
  Rounding rounding;
  float factor = divided(steps, largest);
  int zero = !is_finite(largest) || !is_finite(factor);
  rounding.factor = zero ? 0.0f : factor;
  rounding.scale = !zero ? divided(largest, steps) : is_finite(largest) ? 0.0f : QUIET_NAN;
  return rounding;
}
FUNC int rounded(float x, Rounding rounding) {
  return rounding.factor == 0 ? 0 : (int)ROUND(x * rounding.factor);
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

#if defined(CACHE_INT8) || defined(CACHE_INT4)
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
#elif defined(CACHE_INT8)
  GLOBAL const float* from = x + at * size;
  Rounding rounding = rounding_of(largest_of(from, size), 127.0f);
  for (uint i = 0; i < size; ++i) {
    uint index = holds_keys ? key_index(token, i, row_size) : value_index(token, i, row_size);
    to[index] = (schar)rounded(from[i], rounding);
  }
  ((GLOBAL float*)(to + rounded_up(context) * row_size))[token] = rounding.scale;
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

// Caches of floats only. Block (h, r) has head h of row r, of the heads of queries, then those of keys, then those of
// values: norms and turns queries and keys, and stores keys and values in their caches. Row r of
// each lies at begin + r stride. norms: 1 for queries, 2 for keys.
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
#ifdef CACHE_INT8
  int sum = 0;
  for (uint i = 0; i < size; ++i) {
    sum += rounded(query[i], rounding) * LOAD(key, key_index(token, i, row_size));
  }
  return (float)sum * ((GLOBAL const float*)(key + rounded_up(context) * row_size))[token];
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

#ifdef CACHE_INT8
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
#ifdef CACHE_INT8
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
#ifdef CACHE_INT8
  GLOBAL const float* value_scales =
      (GLOBAL const float*)(value + rounded_up(context) * value_row);
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
#ifdef CACHE_INT8
    for (uint g = first_group; g <= last_group; ++g) {
      uint end = g == last_group ? position + 1 : (g + 1) * WEIGHT_GROUP;
      int exact = 0;
      for (uint t = g == first_group ? first : g * WEIGHT_GROUP; t < end; ++t) {
        exact += (int)score[t] * LOAD(value, value_index(t, i, value_row));
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
