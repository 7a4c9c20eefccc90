// y[r, o] = bias[o] + sum_k x[r, k] w[k, o], in the order of k: kernels/dense/float_matmul.h. Block
// (i, r) has outputs of row r, one for a thread.
KERNEL multiply_floats(GLOBAL const float* x, GLOBAL const float* w, GLOBAL const float* bias,
                       GLOBAL float* y, uint cols, uint outputs, uint has_bias) {
  uint o = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (o >= outputs) return;
  GLOBAL const float* row = x + GROUP_Y() * cols;
  float acc = has_bias ? bias[o] : 0.0f;
  for (uint k = 0; k < cols; ++k) acc = acc + row[k] * w[(size_t)k * outputs + o];
  y[GROUP_Y() * outputs + o] = acc;
}
