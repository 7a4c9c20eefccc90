// Layers and pools of float32, in the order of taps and channels. A thread has an output of a pixel.

// kernels/conv/float_conv.h and kernels/dense/float_matmul.h; pixels outside are zeros. Weights
// lie as [inputs of an output, outputs].
KERNEL multiply_floats_of_windows(GLOBAL const float* x, GLOBAL const float* w,
                                  GLOBAL const uint* shape, GLOBAL const float* bias,
                                  GLOBAL float* y, uint count, uint flags, float low, float high) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  uint outputs = OUTPUTS(shape);
  uint o = i % outputs;
  Pixel pixel = pixel_of(shape, i / outputs);
  uint row = CHANNELS(shape);
  uint channels = row / GROUPS(shape);
  uint first = o / (outputs / GROUPS(shape)) * channels;
  float acc = bias[o];
  w += o;
  uint taps = num_taps(shape);
  for (uint tap = 0; tap < taps; ++tap) {
    uint from = input_pixel(shape, pixel, tap);
    for (uint c = 0; c < channels; ++c, w += outputs) {
      float input = from == OUTSIDE ? 0.0f : x[(size_t)from * row + first + c];
      acc = acc + input * *w;
    }
  }
  y[i] = finished(acc, y, i, flags, low, high);
}

// kernels/conv/float_pool.h. counted: taps of a window, or 0: those inside.
KERNEL pool_floats(GLOBAL const float* x, GLOBAL const uint* shape, GLOBAL float* y, uint count,
                   uint is_max, uint counted) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  uint channels = CHANNELS(shape);
  Pixel pixel = pixel_of(shape, i / channels);
  float largest = -INFINITE;
  double sum = 0;
  uint inside = 0;
  uint taps = num_taps(shape);
  for (uint tap = 0; tap < taps; ++tap) {
    uint from = input_pixel(shape, pixel, tap);
    if (from == OUTSIDE) continue;
    float input = x[(size_t)from * channels + i % channels];
    largest = largest < input || is_nan(input) ? input : largest;
    sum += (double)input;
    ++inside;
  }
  if (counted != 0) inside = counted;
  y[i] = is_max ? largest : (float)(sum / (double)(inside == 0 ? 1 : inside));
}
