// y = (x - mean) / sqrt(variance + epsilon) of rows, in double: runtime/statistics/blocks.h. Term c
// of a sum goes to partial sum c mod 16, in order; then these are added in pairs 8, 4, 2 and 1
// apart. A block of 16 threads has a row.
#define LANES 16
FUNC double sum_of_lanes(TO_SHARED double* lanes, double own, uint lane) {
  lanes[lane] = own;
  BARRIER();
  for (uint half_lanes = LANES / 2; half_lanes > 0; half_lanes /= 2) {
    if (lane < half_lanes) lanes[lane] += lanes[lane + half_lanes];
    BARRIER();
  }
  double sum = lanes[0];
  BARRIER();
  return sum;
}

KERNEL normalize_rows(GLOBAL const float* x, GLOBAL float* y, uint cols, float epsilon,
                 uint subtracts_mean) {
  SHARED double lanes[LANES];
  uint lane = LOCAL_ID();
  GLOBAL const float* row = x + GROUP_X() * cols;
  double mean = 0;
  if (subtracts_mean) {
    double sum = 0;
    for (uint c = lane; c < cols; c += LANES) sum += (double)row[c];
    mean = sum_of_lanes(lanes, sum, lane) / (double)cols;
  }
  double squares = 0;
  for (uint c = lane; c < cols; c += LANES) {
    double centred = (double)row[c] - mean;
    squares += centred * centred;
  }
  double variance = sum_of_lanes(lanes, squares, lane) / (double)cols;
  double factor = 1 / sqrt(variance + (double)epsilon);
  for (uint c = lane; c < cols; c += LANES) {
    y[GROUP_X() * cols + c] = (float)(((double)row[c] - mean) * factor);
  }
}
