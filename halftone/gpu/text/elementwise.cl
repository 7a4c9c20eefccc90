// y[i] = FUNCTION(x[i]), where FUNCTION is one of elementary.cl.
KERNEL apply(GLOBAL const float* x, GLOBAL float* y, uint count) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i < count) y[i] = FUNCTION(x[i]);
}

// y[i] = FUNCTION(OPERATION(a[i / a_step mod a_count], b[i / b_step mod b_count])): an operand with
// fewer elements has the last extents of the other, or the first ones.
KERNEL combine(GLOBAL const float* a, GLOBAL const float* b, GLOBAL float* y, uint count,
               uint a_count, uint a_step, uint b_count, uint b_step) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  float p = a[i / a_step % a_count];
  float q = b[i / b_step % b_count];
  y[i] = FUNCTION(OPERATION(p, q));
}

// y[r, c] = x[r, begin + c]: columns of rows.
KERNEL copy_columns(GLOBAL const float* x, GLOBAL float* y, uint count, uint x_cols, uint y_cols,
                    uint begin) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i < count) y[i] = x[i / y_cols * x_cols + begin + i % y_cols];
}

// y[r] = table[ids[r]], rows of a table of floats.
KERNEL gather_rows(GLOBAL const float* table, GLOBAL const int* ids, GLOBAL float* y, uint count,
                   uint cols) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i < count) y[i] = table[(uint)ids[i / cols] * cols + i % cols];
}

// y[r, o] = FUNCTION(x[r, o]) * x[r, up + o]: gates of rows.
KERNEL combine_gated(GLOBAL const float* x, GLOBAL float* y, uint count, uint x_cols, uint y_cols,
                     uint up) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  uint at = i / y_cols * x_cols + i % y_cols;
  y[i] = FUNCTION(x[at]) * x[at + up];
}
