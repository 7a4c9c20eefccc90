// Caches of keys and values: kernels/attention/cache.h. A cache has, for each sequence and head,
// keys in panels of 16 tokens or values in rows, row_size numbers each: floats of 32 bits, with
// CACHE_HALF of 16, with CACHE_INT8 integers in pairs and behind them a float scale for each token,
// with CACHE_INT6 codes and such scales, with CACHE_INT4 codes in halves of bytes and behind them
// groups.
#define PANEL 16
#if defined(CACHE_HALF)
typedef ushort cached_t;
#define LOAD(p, i) load_half(p, i)
#define STORE(p, i, x) store_half(p, i, x)
#elif defined(CACHE_INT8)
typedef schar cached_t;
#define INTEGER_STEPS 127.0f
#define ROW_BYTES(row_size) (row_size)
#elif defined(CACHE_INT6)
typedef uchar cached_t;
#define INTEGER_STEPS 31.0f
#define ROW_BYTES(row_size) ((row_size) / 4 * 3)
#define NIBBLE_VALUES 2  // whose bytes lie next to each other
#elif defined(CACHE_INT4)
typedef uchar cached_t;
#define ROW_BYTES(row_size) ((row_size) / 2)
#define NIBBLE_VALUES 1
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

#ifdef NIBBLE_VALUES
// The byte with the code of number i of a token, or with its lower 4 bits.
FUNC uint key_nibble(uint token, uint i, uint row_size) {
  return token / PANEL * PANEL * ROW_BYTES(row_size) + i / 2 * PANEL + token % PANEL;
}
FUNC uint value_nibble(uint token, uint i, uint row_size) {
  uint first = token / NIBBLE_VALUES * NIBBLE_VALUES * ROW_BYTES(row_size);
  return first + (i / 16 * 8 + i % 8) * NIBBLE_VALUES + token % NIBBLE_VALUES;
}
FUNC uint half_of(uint byte, uint is_upper) { return is_upper ? byte >> 4 : byte & 15u; }
#endif

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
  return (float)half_of(head[byte], is_upper) * unit + first_of(unit, (schar)groups[group + PANEL]);
}
FUNC float key_number(GLOBAL const uchar* head, uint token, uint i, uint size, uint context) {
  uint row_size = rounded_up(size);
  return decoded(head, head + rounded_up(context) * ROW_BYTES(row_size),
                 key_nibble(token, i, row_size), i % 2, group_index(token, i, size));
}
FUNC float value_number(GLOBAL const uchar* head, uint token, uint i, uint size, uint context) {
  uint row_size = rounded_up(size);
  return decoded(head, head + rounded_up(context) * ROW_BYTES(row_size),
                 value_nibble(token, i, row_size), i % 16 / 8, group_index(token, i, size));
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
  uint row_size = rounded_up(size);
  GLOBAL uchar* groups = head + rounded_up(context) * ROW_BYTES(row_size);
  float x[GROUP];
  for (uint begin = 0; begin < size; begin += GROUP) {
    Group group = best_group(from + begin, size - begin, x);
    groups[group_index(token, begin, size)] = (uchar)group.unit_code;
    groups[group_index(token, begin, size) + PANEL] = (uchar)group.offset;
    float unit = unit_of(group.unit_code);
    float first = first_of(unit, group.offset);
    float per_number = divided(1.0f, unit);
    uint end = begin + GROUP < row_size ? begin + GROUP : row_size;
    uint apart = holds_keys ? 1 : 8;  // numbers of a byte
    for (uint i = begin; i < end; ++i) {
      if (i / apart % 2 != 0) continue;
      uint codes = 0;
      for (uint each = 0; each < 2; ++each) {
        uint at = i + each * apart;
        int has_code = at < size && group.unit_code != NO_NUMBER;
        if (has_code) codes |= (uint)code_of(x[at - begin], first, per_number) << (4 * each);
      }
      uint byte = holds_keys ? key_nibble(token, i, row_size) : value_nibble(token, i, row_size);
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

#ifdef INTEGER_STEPS
// The scales of the tokens of a head.
FUNC GLOBAL float* scales_of(GLOBAL const cached_t* head, uint row_size, uint context) {
  return (GLOBAL float*)(head + rounded_up(context) * ROW_BYTES(row_size));
}
#endif
#ifdef CACHE_INT8
FUNC int key_integer(GLOBAL const schar* head, uint token, uint i, uint row_size) {
  return head[key_index(token, i, row_size)];
}
FUNC int value_integer(GLOBAL const schar* head, uint token, uint i, uint row_size) {
  return head[value_index(token, i, row_size)];
}
// Stores the integers of a head of a token.
FUNC void store_integers(GLOBAL const float* from, Rounding rounding, GLOBAL schar* head,
                         uint token, uint size, uint holds_keys) {
  uint row_size = rounded_up(size);
  for (uint i = 0; i < size; ++i) {
    uint index = holds_keys ? key_index(token, i, row_size) : value_index(token, i, row_size);
    head[index] = (schar)rounded(from[i], rounding);
  }
}
#elif defined(CACHE_INT6)
// The byte with the upper 2 bits of the code of number i of a token.
FUNC uint key_top(uint token, uint i, uint row_size) {
  return key_nibble(token, row_size, row_size) + i / 4 * PANEL;
}
FUNC uint value_top(uint token, uint i, uint row_size) {
  return value_nibble(token, row_size, row_size) + (i / 16 * 4 + i % 4) * 2;
}
FUNC int key_integer(GLOBAL const uchar* head, uint token, uint i, uint row_size) {
  uint top = head[key_top(token, i, row_size)] >> i % 4 * 2 & 3u;
  return (int)(half_of(head[key_nibble(token, i, row_size)], i % 2) + 16 * top) - 32;
}
FUNC int value_integer(GLOBAL const uchar* head, uint token, uint i, uint row_size) {
  uint top = head[value_top(token, i, row_size)] >> i % 16 / 4 * 2 & 3u;
  return (int)(half_of(head[value_nibble(token, i, row_size)], i % 16 / 8) + 16 * top) - 32;
}
// Stores the integers of a head of a token: of four numbers that share a byte of upper bits at a
// time, whose lower bits are those of two bytes.
FUNC void store_integers(GLOBAL const float* from, Rounding rounding, GLOBAL uchar* head,
                         uint token, uint size, uint holds_keys) {
  uint row_size = rounded_up(size);
  uint apart = holds_keys ? 1 : 4;
  uint partner = holds_keys ? 1 : 2;  // of the first, in its byte of lower bits
  for (uint four = 0; four < row_size / 4; ++four) {
    uint first = holds_keys ? 4 * four : four / 4 * 16 + four % 4;
    uint second = first + (3 - partner) * apart;
    uint codes[4];
    uint top = 0;
    for (uint j = 0; j < 4; ++j) {
      uint i = first + j * apart;
      codes[j] = (uint)(32 + (i < size ? rounded(from[i], rounding) : 0));
      top |= codes[j] >> 4 << 2 * j;
    }
    uint low = (codes[0] & 15u) | (codes[partner] & 15u) << 4;
    uint high = (codes[3 - partner] & 15u) | (codes[3] & 15u) << 4;
    if (holds_keys) {
      head[key_nibble(token, first, row_size)] = (uchar)low;
      head[key_nibble(token, second, row_size)] = (uchar)high;
      head[key_top(token, first, row_size)] = (uchar)top;
    } else {
      head[value_nibble(token, first, row_size)] = (uchar)low;
      head[value_nibble(token, second, row_size)] = (uchar)high;
      head[value_top(token, first, row_size)] = (uchar)top;
    }
  }
}
#endif
