// y = (x - mean) / sqrt(variance + epsilon) of rows, in double, and then its tails:
// runtime/statistics/blocks.h. Term c of a sum goes to partial sum c mod 16, in order; then these are
// added in pairs 8, 4, 2 and 1 apart. A block of threads has a row. With ENCODES the row is encoded,
// too, as encode_groups.cl says. With SUBTRACTS_MEAN the mean is taken, else it is 0.
#define LANES 16
#define PART 2048  // inputs in memory of the block at a time
// Memory of a block of threads.
#define NORM_MEMORY(name)            \
  SHARED double name##_lanes[LANES]; \
  SHARED float name##_part[PART];    \
  NormMemory name;                   \
  name.lanes = name##_lanes;         \
  name.part = name##_part
typedef struct {
  TO_SHARED double* lanes;
  TO_SHARED float* part;
} NormMemory;

// The sum of (x - mean)^2, or of x.
FUNC double sum_of_row(NormMemory memory, GLOBAL const float* x, uint cols, double mean,
                       int squares) {
  uint lane = LOCAL_ID();
  double sum = 0;
  for (uint first = 0; first < cols; first += PART) {
    uint count = cols - first < PART ? cols - first : PART;
    for (uint i = LOCAL_ID(); i < count; i += LOCAL_SIZE()) memory.part[i] = x[first + i];
    BARRIER();
    if (lane < LANES) {
      for (uint i = lane; i < count; i += LANES) {
        double centred = (double)memory.part[i] - mean;
        sum += squares ? centred * centred : centred;
      }
    }
    BARRIER();
  }
  if (lane < LANES) memory.lanes[lane] = sum;
  BARRIER();
  for (uint apart = LANES / 2; apart > 0; apart /= 2) {
    if (lane < apart) memory.lanes[lane] += memory.lanes[lane + apart];
    BARRIER();
  }
  double total = memory.lanes[0];
  BARRIER();
  return total;
}

// y of one row. All threads of the block take part.
FUNC void normalize_row(NormMemory memory, GLOBAL const float* x, GLOBAL float* y,
                        uint cols, float epsilon, uint first, Tails tails) {
  double mean = 0;
#ifdef SUBTRACTS_MEAN
  mean = sum_of_row(memory, x, cols, 0, 0) / (double)cols;
#endif
  double variance = sum_of_row(memory, x, cols, mean, 1) / (double)cols;
  double factor = 1 / sqrt(variance + (double)epsilon);
  for (uint c = LOCAL_ID(); c < cols; c += LOCAL_SIZE()) {
    y[c] = with_tails((float)(((double)x[c] - mean) * factor), first + c, tails);
  }
  BARRIER();
}

#ifndef ENCODES
KERNEL normalize_rows(GLOBAL const float* x, GLOBAL float* y, uint cols, float epsilon,
                      TAIL_PARAMETERS) {
  NORM_MEMORY(memory);
  TAILS(tails);
  uint first = GROUP_X() * cols;
  normalize_row(memory, x + first, y + first, cols, epsilon, first, tails);
}
#else
KERNEL normalize_and_encode(GLOBAL const float* x, GLOBAL float* y, uint cols, float epsilon,
                            TAIL_PARAMETERS, GLOBAL int* codes, GLOBAL float* scales,
                            GLOBAL float* shares, GLOBAL int* sums,
                            uint padded_cols) {
  NORM_MEMORY(memory);
  SHARED EncodedChunk chunk;
  TAILS(tails);
  uint first = GROUP_X() * cols;
  normalize_row(memory, x + first, y + first, cols, epsilon, first, tails);
  for (uint begin = 0; begin < padded_cols; begin += CHUNK_INPUTS) {
    uint end = begin + CHUNK_INPUTS < padded_cols ? begin + CHUNK_INPUTS : padded_cols;
    encode_chunk(&chunk, y + first, cols, begin, end);
    uint word = (GROUP_X() * padded_cols + begin) / 4;
    for (uint w = LOCAL_ID(); w < (end - begin) / 4; w += LOCAL_SIZE()) {
      codes[word + w] = chunk.codes[w];
    }
    uint piece = (GROUP_X() * padded_cols + begin) / PIECE;
    for (uint p = LOCAL_ID(); p < (end - begin) / PIECE; p += LOCAL_SIZE()) {
      scales[piece + p] = chunk.scales[p];
      shares[piece + p] = chunk.shares[p];
      sums[piece + p] = chunk.sums[p];
    }
    BARRIER();
  }
}
#endif
