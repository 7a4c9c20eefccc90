// How rows choose experts: kernels of few columns, with a thread for a row or an output.

// Softmax of rows: kernels/activation/softmax.h.
KERNEL softmax_rows(GLOBAL const float* x, GLOBAL float* y, uint rows, uint cols) {
  uint row = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;
  float largest = -INFINITE;
  for (uint c = 0; c < cols; ++c) largest = x[c] > largest ? x[c] : largest;
  float parts[16];
  for (uint i = 0; i < 16; ++i) parts[i] = 0;
  for (uint c = 0; c < cols; ++c) {
    float e = exp_of(x[c] - largest);
    y[c] = e;
    parts[c % 16] = parts[c % 16] + e;
  }
  for (uint apart = 8; apart != 0; apart /= 2) {
    for (uint i = 0; i < apart; ++i) parts[i] = parts[i] + parts[i + apart];
  }
  for (uint c = 0; c < cols; ++c) y[c] = divided(y[c], parts[0]);
}

// Whether element i precedes element j of a row; NaN is larger than every number, and of equal
// elements the first is better.
FUNC int is_before(GLOBAL const float* x, uint i, uint j) {
  float a = x[i];
  float b = x[j];
  int a_is_nan = is_nan(a);
  int b_is_nan = is_nan(b);
  if (a_is_nan != b_is_nan) return a_is_nan;
  if (a_is_nan || a == b) return i < j;
  return a > b;
}

// The indices of the k largest elements of rows, best first.
KERNEL top_k(GLOBAL const float* x, GLOBAL int* y, uint rows, uint cols, uint k) {
  uint row = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (row >= rows) return;
  x += row * cols;
  y += row * k;
  for (uint n = 0; n < k; ++n) {
    uint best = cols;
    for (uint c = 0; c < cols; ++c) {
      if (n != 0 && !is_before(x, (uint)y[n - 1], c)) continue;  // chosen before
      if (best == cols || is_before(x, c, best)) best = c;
    }
    y[n] = (int)best;
  }
}

// y[r, j] = x[r, ids[r, j]].
KERNEL gather_elements(GLOBAL const float* x, GLOBAL const int* ids, GLOBAL float* y, uint count,
                       uint x_cols, uint y_cols) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i < count) y[i] = x[i / y_cols * x_cols + (uint)ids[i]];
}

// y[o, i] = the sum of x[o, e, i] over e, divided, in double: runtime/statistics/blocks.h. With one column,
// in 16 partial sums.
KERNEL sum_axis(GLOBAL const float* x, GLOBAL float* y, uint count, uint extent, uint inner,
                uint divisor) {
  uint at = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (at >= count) return;
  x += at / inner * extent * inner + at % inner;
  double parts[16];
  for (uint i = 0; i < 16; ++i) parts[i] = 0;
  uint lanes = inner == 1 ? 16 : 1;
  for (uint e = 0; e < extent; ++e) parts[e % lanes] += (double)x[e * inner];
  for (uint apart = lanes / 2; apart != 0; apart /= 2) {
    for (uint i = 0; i < apart; ++i) parts[i] += parts[i + apart];
  }
  y[at] = (float)(parts[0] / (double)divisor);
}
