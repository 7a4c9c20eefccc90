// Layers of bits: kernels/conv/bit_conv.h, and with DENSE kernels/bit_matmul/bit_matmul.h. A thread
// has an output of a pixel. The program defines W_BITS, planes of the weights. A plane of a pixel
// has words of 32 channels; weights lie as [planes, taps, words of a group, outputs], at the bits
// that their channels have in the words of a pixel, of which masks [groups, words] have a 1.
#define HAS_OFFSETS 4u
#define HAS_SUMS 8u
#define HAS_BIAS 16u

// digits: first their number, words of a plane of a pixel and of a group, planes of a pixel; then
// of each digit its unit, number of planes, and plane and multiple of each.
//     floats  products [digits, W_BITS, outputs], offsets [outputs]; with DENSE sums and bias
KERNEL multiply_bits(GLOBAL const uint* x, GLOBAL const uint* w, GLOBAL const uint* masks,
                     GLOBAL const uint* shape, GLOBAL const uint* patterns,
                     GLOBAL const uint* digits, GLOBAL const float* base,
                     GLOBAL const float* floats, GLOBAL const float* residual, GLOBAL float* y,
                     uint count, uint flags, float added, float low, float high) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  uint outputs = OUTPUTS(shape);
  uint o = i % outputs;
  uint group = o / (outputs / GROUPS(shape));
  Pixel pixel = pixel_of(shape, i / outputs);
  uint num_digits = digits[0];
  uint words = digits[1];
  uint span = digits[2];
  uint x_bits = digits[3];
  uint channels = CHANNELS(shape) / GROUPS(shape);
  uint taps = num_taps(shape);
  int n = (int)(taps * channels);
  uint first = group * channels / 32;
  masks += group * span;
  uint plane_step = taps * span * outputs;
#ifdef DENSE
  float acc = 0.0f;
#else
  float acc = base[patterns[pixel.index] * outputs + o];
#endif
  float row_sum = 0.0f;
  floats += o;
  for (uint d = 0; d < num_digits; ++d) {
    GLOBAL const uint* digit = digits + 4 + 6 * d;
    float unit = FLOAT_OF(digit[0]);
    int products[W_BITS];
    for (uint j = 0; j < W_BITS; ++j) products[j] = 0;
    int inputs = 0;
    for (uint k = 0; k < digit[1]; ++k) {
      uint plane = digit[2 + 2 * k];
      int multiple = (int)digit[3 + 2 * k];
      int ones = 0;
      int differences[W_BITS];
      for (uint j = 0; j < W_BITS; ++j) differences[j] = 0;
      GLOBAL const uint* weights = w + o;
      for (uint tap = 0; tap < taps; ++tap) {
        uint from = input_pixel(shape, pixel, tap);
        for (uint s = 0; s < span; ++s, weights += outputs) {
          uint mask = masks[s];
          uint bits = mask == 0 || from == OUTSIDE
                          ? 0u
                          : x[((size_t)from * x_bits + plane) * words + first + s] & mask;
          ones += (int)COUNT_BITS(bits);
          for (uint j = 0; j < W_BITS; ++j) {
            differences[j] += (int)COUNT_BITS((bits ^ weights[j * plane_step]) & mask);
          }
        }
      }
      inputs += multiple * (2 * ones - n);
      for (uint j = 0; j < W_BITS; ++j) products[j] += multiple * (n - 2 * differences[j]);
    }
    for (uint j = 0; j < W_BITS; ++j, floats += outputs) {
      acc = acc + floats[0] * (float)products[j];
    }
    row_sum = row_sum + unit * (float)inputs;
  }
#ifdef DENSE
  if (flags & HAS_OFFSETS) acc = acc + floats[0] * (row_sum + added);
  if (flags & HAS_SUMS) acc = acc + floats[outputs];
  if (flags & HAS_BIAS) acc = acc + floats[2 * outputs];
#else
  if (flags & HAS_OFFSETS) acc = acc + floats[0] * row_sum;
#endif
  y[i] = finished(acc, residual, i, flags, low, high);
}
