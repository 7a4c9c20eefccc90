// The pixels that an output of a layer reads: kernels/conv/conv_shape.h. Numbers of a shape: of
// each of three axes, the slowest first, input, output, kernel, stride, dilation and padding; then
// channels, outputs and groups.
#define OUTSIDE 0xFFFFFFFFu
#define CHANNELS(shape) ((shape)[18])
#define OUTPUTS(shape) ((shape)[19])
#define GROUPS(shape) ((shape)[20])

// What follows the sum of an output.
#define HAS_RESIDUAL 1u
#define HAS_LIMITS 2u

typedef struct {
  uint image;
  uint z;
  uint y;
  uint x;
  uint index;  // in the image
} Pixel;

FUNC Pixel pixel_of(GLOBAL const uint* shape, uint number) {
  Pixel p;
  p.x = number % shape[13];
  uint line = number / shape[13];
  p.y = line % shape[7];
  line /= shape[7];
  p.z = line % shape[1];
  p.image = line / shape[1];
  p.index = number - p.image * (shape[1] * shape[7] * shape[13]);
  return p;
}

FUNC uint num_taps(GLOBAL const uint* shape) { return shape[2] * shape[8] * shape[14]; }

// What tap `tap` of output `at` reads along an axis.
FUNC uint input_along(GLOBAL const uint* axis, uint at, uint tap) {
  uint from = at * axis[3] + tap * axis[4] - axis[5];  // above all inputs if below zero
  return from < axis[0] ? from : OUTSIDE;
}

// The pixel that a tap reads, of all images.
FUNC uint input_pixel(GLOBAL const uint* shape, Pixel p, uint tap) {
  uint x = input_along(shape + 12, p.x, tap % shape[14]);
  uint y = input_along(shape + 6, p.y, tap / shape[14] % shape[8]);
  uint z = input_along(shape, p.z, tap / shape[14] / shape[8]);
  if (x == OUTSIDE || y == OUTSIDE || z == OUTSIDE) return OUTSIDE;
  return ((p.image * shape[0] + z) * shape[6] + y) * shape[12] + x;
}

// kernels/conv/conv_finish.h.
FUNC float finished(float sum, GLOBAL const float* residual, uint i, uint flags, float low,
                    float high) {
  if (flags & HAS_RESIDUAL) sum = sum + residual[i];
  if (flags & HAS_LIMITS) sum = sum <= low ? low : sum >= high ? high : sum;
  return sum;
}
