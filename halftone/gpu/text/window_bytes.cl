// Layers of 8-bit integers. A thread has an output of a pixel. Weights lie as [inputs of an output,
// outputs], so that neighbouring threads read neighbouring weights. WORDS: four channels are read
// at once. WIDE: weights of 16 bits.
#ifdef WORDS
#define UNIT 4
typedef uint unit_t;
typedef uint weight_t;
#define ADD_PRODUCT(a, b, sum) dot4((int)(a), (int)(b), sum)
#define ADD_INPUT(a, sum) dot4((int)(a), 0x01010101, sum)
#else
#define UNIT 1
typedef schar unit_t;
#ifdef WIDE
typedef short weight_t;
#else
typedef schar weight_t;
#endif
#define ADD_PRODUCT(a, b, sum) ((sum) + (int)(a) * (int)(b))
#define ADD_INPUT(a, sum) ((sum) + (int)(a))
#endif

// Besides those of window.cl.
#define STARTS_AT_BASE 4u
#define HAS_CENTERS 8u
#define SCALE_OF_ROW 16u
#define HAS_ONES 32u
#define ENDS_WITH_BASE 64u
#define IS_SIGNED 128u

// The sums of a section join those before: of weights less 128, q = sum x, p = sum (2 u - steps) x;
// with IS_SIGNED p = sum w x.
FUNC float with_section(float acc, GLOBAL const float* factors, uint outputs, int sum, int q,
                        uint steps, uint flags) {
  uint odd = 2u * ((uint)sum + 128u * (uint)q) - steps * (uint)q;
  int p = flags & IS_SIGNED ? sum : (int)odd;
  acc = acc + factors[0] * (float)p;
  if (flags & HAS_CENTERS) acc = acc + factors[outputs] * (float)q;
  return acc;
}

// Levels of weights on their grid, times integers: kernels/conv/byte_conv.h and depthwise_conv.h
// with STARTS_AT_BASE, else kernels/int8_matmul/level_matmul.h and int8_conv.h.
//     patterns  of the pixels of an image, which select a row of base [patterns, outputs]
//     factors   [sections, half steps and centers, outputs]
//     scales    of a row of inputs, or one;  ones: what an offset of the inputs adds, [outputs]
//     section   units that share a basis
KERNEL multiply_levels(GLOBAL const unit_t* x, GLOBAL const weight_t* w, GLOBAL const uint* shape,
                       GLOBAL const uint* patterns, GLOBAL const float* base,
                       GLOBAL const float* factors, GLOBAL const float* scales,
                       GLOBAL const float* ones, GLOBAL const float* residual, GLOBAL float* y,
                       uint count, uint section, uint steps, uint flags, float low, float high) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  uint outputs = OUTPUTS(shape);
  uint o = i % outputs;
  Pixel pixel = pixel_of(shape, i / outputs);
  uint row = CHANNELS(shape) / UNIT;
  uint units = row / GROUPS(shape);
  uint first = o / (outputs / GROUPS(shape)) * units;
  float start = base[patterns[pixel.index] * outputs + o];
  float acc = flags & STARTS_AT_BASE ? start : 0.0f;
  int sum = 0;
  int q = 0;
  uint left = section;
  w += o;
  factors += o;
  uint taps = num_taps(shape);
  for (uint tap = 0; tap < taps; ++tap) {
    uint from = input_pixel(shape, pixel, tap);
    for (uint u = 0; u < units; ++u, w += outputs) {
      if (from != OUTSIDE) {
        unit_t unit = x[from * row + first + u];
        sum = ADD_PRODUCT(unit, *w, sum);
        q = ADD_INPUT(unit, q);
      }
      if (--left == 0) {
        acc = with_section(acc, factors, outputs, sum, q, steps, flags);
        factors += 2 * outputs;
        sum = 0;
        q = 0;
        left = section;
      }
    }
  }
  if (left != section) acc = with_section(acc, factors, outputs, sum, q, steps, flags);
  if (!(flags & STARTS_AT_BASE)) acc = acc * scales[flags & SCALE_OF_ROW ? i / outputs : 0];
  if (flags & HAS_ONES) acc = acc + ones[o];
  if (flags & ENDS_WITH_BASE) acc = acc + start;
  y[i] = finished(acc, residual, i, flags, low, high);
}

// Exact products of integers modulo 2^32: kernels/conv/byte_conv.h, integer_conv(). flip is added
// to the inputs without carry: uint8 becomes int8.
KERNEL multiply_integers(GLOBAL const unit_t* x, GLOBAL const weight_t* w,
                         GLOBAL const uint* shape, GLOBAL const uint* patterns,
                         GLOBAL const uint* base, GLOBAL const uint* zeros, GLOBAL uint* y,
                         uint count, uint flip) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  uint outputs = OUTPUTS(shape);
  uint o = i % outputs;
  Pixel pixel = pixel_of(shape, i / outputs);
  uint row = CHANNELS(shape) / UNIT;
  uint units = row / GROUPS(shape);
  uint first = o / (outputs / GROUPS(shape)) * units;
  int sum = 0;
  int q = 0;
  w += o;
  uint taps = num_taps(shape);
  for (uint tap = 0; tap < taps; ++tap) {
    uint from = input_pixel(shape, pixel, tap);
    if (from == OUTSIDE) {
      w += (size_t)units * outputs;
      continue;
    }
    for (uint u = 0; u < units; ++u, w += outputs) {
      unit_t unit = (unit_t)(x[from * row + first + u] ^ (unit_t)flip);
      sum = ADD_PRODUCT(unit, *w, sum);
      q = ADD_INPUT(unit, q);
    }
  }
  y[i] = base[patterns[pixel.index] * outputs + o] + (uint)sum - zeros[o] * (uint)q;
}
