// Functions of two operands that are broadcast to a result, and copies of boxes. axes: of each
// axis, the last one first, its count and the steps of two operands, or of source and destination.
FUNC int offset_in(GLOBAL const int* axes, uint num_axes, uint i, uint operand) {
  int at = 0;
  for (uint a = 0; a < num_axes; ++a) {
    uint extent = (uint)axes[3 * a];
    at += (int)(i % extent) * axes[3 * a + 1 + operand];
    i /= extent;
  }
  return at;
}

#ifdef NUMBER
// y = FUNCTION(OPERATION(a, b)).
KERNEL combine_pairs(GLOBAL const NUMBER* a, GLOBAL const NUMBER* b, GLOBAL const int* axes,
                     GLOBAL NUMBER* y, uint count, uint num_axes) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  NUMBER p = a[offset_in(axes, num_axes, i, 0)];
  NUMBER q = b[offset_in(axes, num_axes, i, 1)];
  y[i] = FUNCTION(OPERATION(p, q));
}
#endif

#ifdef CODE
// Codes to floats, combined, limited and rounded to codes: kernels/encode/linear_codes.h. numbers:
// scale of a, scale of b, low, high; scale of y. integers: zeros of a, b and y, low, high.
KERNEL combine_codes(GLOBAL const CODE* a, GLOBAL const CODE* b, GLOBAL const int* axes,
                     GLOBAL const float* numbers, GLOBAL const int* integers, GLOBAL CODE* y,
                     uint count, uint num_axes, uint half_away) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  float p = numbers[0] * (float)((int)a[offset_in(axes, num_axes, i, 0)] - integers[0]);
  float q = numbers[1] * (float)((int)b[offset_in(axes, num_axes, i, 1)] - integers[1]);
  float x = OPERATION(p, q);
  x = x < numbers[2] ? numbers[2] : x > numbers[3] ? numbers[3] : x;
  y[i] = (CODE)code_of(x, numbers[4], integers[2], integers[3], integers[4], half_away);
}
#endif

// y = table[bits of a][bits of b].
KERNEL look_up_pairs(GLOBAL const uchar* a, GLOBAL const uchar* b, GLOBAL const int* axes,
                     GLOBAL const uchar* table, GLOBAL uchar* y, uint count, uint num_axes) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  uint row = a[offset_in(axes, num_axes, i, 0)];
  y[i] = table[row * 256 + b[offset_in(axes, num_axes, i, 1)]];
}

#ifdef ELEMENT
KERNEL copy_box(GLOBAL const ELEMENT* x, GLOBAL const int* axes, GLOBAL ELEMENT* y, uint count,
                uint num_axes, uint from, uint to) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i >= count) return;
  y[(int)to + offset_in(axes, num_axes, i, 1)] = x[(int)from + offset_in(axes, num_axes, i, 0)];
}
KERNEL fill_box(GLOBAL const ELEMENT* value, GLOBAL ELEMENT* y, uint count, uint has_value) {
  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (i < count) y[i] = has_value ? value[0] : (ELEMENT)0;
}
#endif
