// Codes of numbers and numbers of codes: kernels/encode/, runtime/integer/. A program defines
// CODE and RESULT, the types of what is read and written where a kernel has several.

// The number of thresholds below x, of which there are `count` in ascending order.
FUNC uint level_of(float x, GLOBAL const float* thresholds, uint count) {
  uint first = 0;
  for (uint rest = count; rest != 0;) {
    uint half_rest = rest / 2;
    int is_above = x > thresholds[first + half_rest];
    first = is_above ? first + half_rest + 1 : first;
    rest = is_above ? rest - half_rest - 1 : half_rest;
  }
  return first;
}

// encode(): bit planes of rows. A word holds 32 columns; a thread has one word of each plane.
//     words  of a plane;  codes [thresholds + 1]
KERNEL encode_bits(GLOBAL const float* x, GLOBAL const float* thresholds,
                   GLOBAL const uint* codes, GLOBAL uint* y, uint count, uint cols, uint words,
                   uint bits, uint num_thresholds) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  uint planes[8];
  for (uint j = 0; j < 8; ++j) planes[j] = 0;
  uint row = i / words;
  uint begin = i % words * 32;
  for (uint c = 0; c < 32 && begin + c < cols; ++c) {
    uint code = codes[level_of(x[(size_t)row * cols + begin + c], thresholds, num_thresholds)];
    for (uint j = 0; j < bits; ++j) planes[j] |= (code >> j & 1u) << c;
  }
  for (uint j = 0; j < bits; ++j) y[((size_t)row * bits + j) * words + i % words] = planes[j];
}

// encode_int8(): the integer of each level.
KERNEL encode_bytes(GLOBAL const float* x, GLOBAL const float* thresholds,
                    GLOBAL const uint* levels, GLOBAL schar* y, uint count, uint num_thresholds) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i < count) y[i] = (schar)levels[level_of(x[i], thresholds, num_thresholds)];
}

// quantize_rows(): rows to int8 with a scale each. A block of threads has a row.
#define ROW_THREADS 128
KERNEL quantize_rows(GLOBAL const float* x, GLOBAL schar* y, GLOBAL float* scales, uint cols) {
  SHARED float largest[ROW_THREADS];
  SHARED int finite[ROW_THREADS];
  uint thread = LOCAL_ID();
  x += (size_t)GROUP_X() * cols;
  y += (size_t)GROUP_X() * cols;
  float own = 0.0f;
  int all_finite = 1;
  for (uint c = thread; c < cols; c += ROW_THREADS) {
    float magnitude = MAGNITUDE(x[c]);
    all_finite = all_finite && is_finite(magnitude);
    own = magnitude > own ? magnitude : own;
  }
  largest[thread] = own;
  finite[thread] = all_finite;
  BARRIER();
  for (uint i = 0; i < ROW_THREADS; ++i) {
    own = largest[i] > own ? largest[i] : own;
    all_finite = all_finite && finite[i];
  }
  float steps = divided(127.0f, own);
  int zero = !all_finite || !is_finite(steps);
  for (uint c = thread; c < cols; c += ROW_THREADS) {
    y[c] = zero ? (schar)0 : (schar)(int)ROUND(x[c] * steps);
  }
  if (thread == 0) {
    scales[GROUP_X()] = !all_finite ? QUIET_NAN : zero ? 0.0f : divided(own, 127.0f);
  }
}

// kernels/encode/linear_codes.h.
FUNC int code_of(float x, float scale, int zero, int low, int high, uint half_away) {
  float steps = divided(x, scale);
  float whole = (half_away ? (float)round((double)steps) : (float)rint((double)steps)) + (float)zero;
  if (is_nan(whole)) return 0;
  return (int)(whole < (float)low ? (float)low : whole > (float)high ? (float)high : whole);
}

#ifdef CODE
KERNEL quantize_linear(GLOBAL const float* x, GLOBAL CODE* y, uint count, float scale, uint zero,
                       uint low, uint high, uint half_away) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i < count) y[i] = (CODE)code_of(x[i], scale, (int)zero, (int)low, (int)high, half_away);
}

// One scale and zero point, or one for each of the last `cols` columns.
KERNEL dequantize_linear(GLOBAL const CODE* x, GLOBAL const float* scales, GLOBAL const int* zeros,
                         GLOBAL float* y, uint count, uint cols) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  integer64 steps = (integer64)x[i] - (integer64)zeros[i % cols];
  y[i] = scales[i % cols] * (float)steps;
}

// kernels/encode/requantize.h, kTwice: integer arithmetic.
FUNC int shifted_right(int x, int bits) {
  int mask = (int)((1u << bits) - 1u);
  int threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> bits) + ((x & mask) > threshold ? 1 : 0);
}
KERNEL requantize_twice(GLOBAL const int* x, GLOBAL const int* mantissas, GLOBAL const int* shifts,
                        GLOBAL CODE* y, uint count, uint cols, uint zero, uint low, uint high) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  int shift = shifts[i % cols];
  int wide = (int)((uint)x[i] << (shift > 0 ? shift : 0));
  integer64 product = (integer64)wide * (integer64)mantissas[i % cols];
  int rounded = (int)((product + (integer64)0x40000000) >> 31);
  int q = (int)((uint)shifted_right(rounded, shift < 0 ? -shift : 0) + zero);
  q = q < (int)low ? (int)low : q > (int)high ? (int)high : q;
  y[i] = (CODE)q;
}
// The others: one product in double.
KERNEL requantize_once(GLOBAL const int* x, GLOBAL const double* factors, GLOBAL CODE* y,
                       uint count, uint cols, uint zero, uint low, uint high, uint half_away) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  double product = (double)x[i] * factors[i % cols];
  double q = (half_away ? round(product) : rint(product)) + (double)(int)zero;
  q = q < (double)(int)low ? (double)(int)low : q > (double)(int)high ? (double)(int)high : q;
  y[i] = (CODE)(int)q;
}

// Windows of codes: runtime/integer/integer_pool.cc. A thread has an output.
KERNEL pool_codes(GLOBAL const CODE* x, GLOBAL const uint* shape, GLOBAL CODE* y, uint count,
                  uint is_max, uint lowest) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  uint channels = CHANNELS(shape);
  Pixel pixel = pixel_of(shape, i / channels);
  int largest = (int)lowest;
  int sum = 0;
  int inside = 0;
  uint taps = num_taps(shape);
  for (uint tap = 0; tap < taps; ++tap) {
    uint from = input_pixel(shape, pixel, tap);
    if (from == OUTSIDE) continue;
    int code = (int)x[(size_t)from * channels + i % channels];
    largest = code > largest ? code : largest;
    sum += code;
    ++inside;
  }
  inside = inside == 0 ? 1 : inside;
  int half_count = sum > 0 ? inside / 2 : -(inside / 2);
  y[i] = (CODE)(is_max ? largest : (sum + half_count) / inside);
}

// Softmax of rows of codes by a table of 256 powers: runtime/statistics/softmax.cc.
KERNEL softmax_codes(GLOBAL const CODE* x, GLOBAL const float* powers, GLOBAL float* y, uint rows,
                     uint cols) {
  uint row = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (row >= rows) return;
  x += (size_t)row * cols;
  y += (size_t)row * cols;
  int largest = (int)x[0];
  for (uint c = 1; c < cols; ++c) largest = (int)x[c] > largest ? (int)x[c] : largest;
  float sum = 0.0f;
  for (uint c = 0; c < cols; ++c) sum = sum + powers[largest - (int)x[c]];
  float factor = divided(1.0f, sum);
  for (uint c = 0; c < cols; ++c) y[c] = powers[largest - (int)x[c]] * factor;
}
#endif

#ifdef RESULT
// y = table[bits of a code].
KERNEL look_up(GLOBAL const uchar* x, GLOBAL const RESULT* table, GLOBAL RESULT* y, uint count) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i < count) y[i] = table[x[i]];
}
#endif
