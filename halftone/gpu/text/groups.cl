// Weights in groups as kernels/groups/packed_groups.h lays them out: strips of 64 rows, in which
// neighbouring rows are neighbouring words. The program defines
//
//     LOW, HIGH, SIGNS   bits of the planes of a code, and sign planes
//     VECTOR             inputs that share a code: 1, 2 or 4
//     FIRST, STEP        level = FIRST + code STEP; or LEVELS, a table of 16
//     IS_BYTES           codes of 8 bits: code - 128 is read
//     GROUP, PIECE       inputs that share a scale, and an integer sum
//     ENCODING           inputs that are rounded with one scale
//     CHUNK_INPUTS       inputs between two sums
//     ENCODES            x are floats, which each block of threads encodes; or codes
//     SCALES             0 float16, 1 float16 times int8, 2 a byte of a table, 3 float32
//     HAS_OFFSETS
//     FUNCTION           of tails.cl and of gates
#define STRIP_ROWS 64
#define BLOCK_INPUTS 256
#define UNIT_INPUTS 32
#define UNIT_WORDS ((LOW + HIGH + SIGNS) * STRIP_ROWS / VECTOR)
#define STEP_INPUTS (PIECE > UNIT_INPUTS ? PIECE : UNIT_INPUTS)
#define STEP_PIECES (STEP_INPUTS / PIECE)

#if SCALES == 0
#define SCALE_BYTES(groups) ((groups) * 2 * STRIP_ROWS)
#elif SCALES == 1
#define SCALE_BYTES(groups) ((2 + (groups)) * STRIP_ROWS)
#elif SCALES == 2
#define SCALE_BYTES(groups) ((groups) * STRIP_ROWS)
#else
#define SCALE_BYTES(groups) ((groups) * 4 * STRIP_ROWS)
#endif

// The scale of a group of a block. scale_table: [256], the scales of all bytes.
FUNC float scale_of(GLOBAL const uchar* scales, GLOBAL const float* scale_table, uint group,
                    uint row) {
#if SCALES == 0
  return load_half((GLOBAL const ushort*)scales, group * STRIP_ROWS + row);
#elif SCALES == 1
  int number = ((GLOBAL const schar*)scales)[(2 + group) * STRIP_ROWS + row];
  return load_half((GLOBAL const ushort*)scales, row) * (float)number;
#elif SCALES == 2
  return scale_table[scales[group * STRIP_ROWS + row]];
#else
  return ((GLOBAL const float*)scales)[group * STRIP_ROWS + row];
#endif
}

// Four codes of a plane of some bits, one in each byte.
#define FIELD(plane, bits, quad) \
  ((plane)[(quad) / (8 / (bits)) * STRIP_ROWS] >> ((quad) % (8 / (bits)) * (bits)) & \
   ((1u << (bits)) - 1u) * 0x01010101u)

FUNC uint four_fields(GLOBAL const uint* unit, uint quad) {
  uint codes = FIELD(unit, LOW, quad);
#if HIGH
  codes |= FIELD(unit + LOW * STRIP_ROWS / VECTOR, HIGH, quad) << LOW;
#endif
  return codes;
}

#if VECTOR > 1
#if VECTOR == 4
typedef uint codeword_t;
#else
typedef ushort codeword_t;
#endif
// The codeword of code `index` of a unit.
FUNC uint codeword_of(GLOBAL const uint* unit, GLOBAL const codeword_t* codewords, uint index,
                      uint fields, uint row) {
  uint code = fields >> (8 * (index % 4)) & 0xFFu;
  GLOBAL const uchar* signs =
      (GLOBAL const uchar*)(unit - row + (LOW + HIGH) * STRIP_ROWS / VECTOR);
  signs += index / 4 * (STRIP_ROWS / 2) + row / 2;
  for (uint s = 0; s < SIGNS; ++s) {
    uint bit = (uint)signs[s * (UNIT_INPUTS / VECTOR * STRIP_ROWS / 8)] >> (row % 2 * 4 + index % 4);
    code |= (bit & 1u) << (LOW + HIGH + s);
  }
  return (uint)codewords[code];
}
#else
typedef uint codeword_t;
#endif

#ifdef LEVELS
CONSTANT schar kLevels[16] = LEVELS;
#endif

// The numbers whose product with inputs 4 quad to 4 quad + 3 is summed.
FUNC int four_numbers(GLOBAL const uint* unit, GLOBAL const codeword_t* codewords, uint quad,
                      uint row) {
#if VECTOR == 4
  return (int)codeword_of(unit, codewords, quad, four_fields(unit, quad / 4), row);
#elif VECTOR == 2
  uint fields = four_fields(unit, quad / 2);
  uint low = codeword_of(unit, codewords, 2 * quad, fields, row);
  return (int)(low | codeword_of(unit, codewords, 2 * quad + 1, fields, row) << 16);
#elif defined(LEVELS)
  uint codes = four_fields(unit, quad);
  uint levels = 0;
  for (uint i = 0; i < 32; i += 8) {
    levels |= ((uint)kLevels[codes >> i & 15u] & 0xFFu) << i;
  }
  return (int)levels;
#elif IS_BYTES
  return (int)(four_fields(unit, quad) ^ 0x80808080u);
#else
  return (int)four_fields(unit, quad);
#endif
}

// Where a step of a row lies.
typedef struct {
  GLOBAL const uchar* scales;
  GLOBAL const uchar* offsets;
  GLOBAL const uint* unit;
  uint row;    // of the strip
  uint input;  // of the block: its first
} Place;

FUNC Place place_of(GLOBAL const uchar* strip, uint row, uint input, uint padded_cols,
                    uint block_bytes) {
  Place place;
  uint block = input / BLOCK_INPUTS;
  uint rest = padded_cols - block * BLOCK_INPUTS;
  uint inputs = rest < BLOCK_INPUTS ? rest : BLOCK_INPUTS;
  GLOBAL const uchar* at = strip + block * block_bytes;
  place.row = row;
  place.input = input % BLOCK_INPUTS;
  place.scales = at;
  at += SCALE_BYTES(inputs / GROUP);
  place.offsets = at;
#if HAS_OFFSETS
  at += SCALE_BYTES(inputs / GROUP);
#endif
  place.unit = (GLOBAL const uint*)at + place.input / UNIT_INPUTS * UNIT_WORDS + row;
  return place;
}

// The sum of products with levels, of that with the numbers of four_numbers(). x_sum: of x.
FUNC int level_sum(int sum, int x_sum) {
#if VECTOR > 1 || defined(LEVELS)
  return sum;
#else
  return STEP * sum + FIRST * x_sum;
#endif
}

#ifdef ENCODES
#define OF_CODES TO_SHARED
typedef float input_t;
#else
#define OF_CODES GLOBAL
typedef int input_t;
#endif

// The exact integer sum of a piece. x: its codes; x_sum: their sum.
FUNC int piece_sum(Place place, GLOBAL const codeword_t* codewords, uint begin,
                   OF_CODES const int* x, int x_sum) {
  int sum = 0;
  for (uint quad = 0; quad < PIECE / 4; ++quad) {
    uint in_step = begin / 4 + quad;
    GLOBAL const uint* unit = place.unit + in_step / 8 * UNIT_WORDS;
    sum = dot4(four_numbers(unit, codewords, in_step % 8, place.row), x[quad], sum);
  }
  return level_sum(sum, x_sum);
}

#define ROWS 16          // of a block of threads
#define LANES 16         // threads of a row
#define CHUNK_STEPS (CHUNK_INPUTS / STEP_INPUTS)  // between two sums
#define TERMS (1 + HAS_OFFSETS)
#define CHUNK_PIECES (CHUNK_INPUTS / PIECE)
#define TERMS_OF_CHUNK (CHUNK_PIECES * TERMS * ROWS)

// Weights as kernels take them, and as functions do.
#define WEIGHT_PARAMETERS \
  GLOBAL const uchar* weights, GLOBAL const float* scale_table, GLOBAL const codeword_t* codewords
typedef struct {
  GLOBAL const uchar* weights;
  GLOBAL const float* scale_table;
  GLOBAL const codeword_t* codewords;
  uint padded_cols;
  uint strip_bytes;
  uint block_bytes;
} Matrix;
#define MATRIX(name)                \
  Matrix name;                      \
  name.weights = weights;           \
  name.scale_table = scale_table;   \
  name.codewords = codewords;       \
  name.padded_cols = padded_cols;   \
  name.strip_bytes = strip_bytes;   \
  name.block_bytes = block_bytes

// Rows of x: codes and what belongs to their pieces, or floats.
#define INPUT_PARAMETERS                                                                       \
  GLOBAL const input_t *x, GLOBAL const float *x_scales, GLOBAL const float *x_shares,         \
      GLOBAL const int *x_sums, uint cols
typedef struct {
  GLOBAL const input_t* x;
  GLOBAL const float* scales;
  GLOBAL const float* shares;
  GLOBAL const int* sums;
  uint cols;  // of the floats
} Inputs;
#ifdef ENCODES
#define INPUTS_OF(name, row) \
  Inputs name;               \
  name.x = x + (row) * cols; \
  name.scales = x_scales;    \
  name.shares = x_shares;    \
  name.sums = x_sums;        \
  name.cols = cols
#else
#define INPUTS_OF(name, row)                              \
  Inputs name;                                            \
  name.x = x + (row) * (padded_cols / 4);                 \
  name.scales = x_scales + (row) * (padded_cols / PIECE); \
  name.shares = x_shares + (row) * (padded_cols / PIECE); \
  name.sums = x_sums + (row) * (padded_cols / PIECE);     \
  name.cols = cols
#endif

// Memory of a block of threads. codes and what follows them are those of a chunk.
#ifdef ENCODES
#define SHARED_MEMORY(name)                 \
  SHARED float name##_terms[TERMS_OF_CHUNK]; \
  SHARED EncodedChunk name##_chunk;          \
  Scratch name;                              \
  name.terms = name##_terms;                 \
  name.chunk = &name##_chunk
typedef struct {
  TO_SHARED float* terms;
  TO_SHARED EncodedChunk* chunk;
} Scratch;
#else
#define SHARED_MEMORY(name)                 \
  SHARED float name##_terms[TERMS_OF_CHUNK]; \
  Scratch name;                              \
  name.terms = name##_terms
typedef struct {
  TO_SHARED float* terms;
} Scratch;
#endif

// The terms of a step of a row, into the scratch of its chunk. x: codes of the chunk.
FUNC void step_terms(Scratch scratch, Matrix w, Place place, uint in_block, uint first_piece,
                     OF_CODES const int* x, OF_CODES const float* scales,
                     OF_CODES const float* shares, OF_CODES const int* sums) {
  for (uint i = 0; i < STEP_PIECES; ++i) {
    uint p = first_piece + i;
    uint group = (place.input + i * PIECE) / GROUP;
    int sum = piece_sum(place, w.codewords, i * PIECE, x + p * (PIECE / 4), sums[p]);
    float scale = scale_of(place.scales, w.scale_table, group, place.row) * scales[p];
    uint at = p * TERMS * ROWS + in_block;
    scratch.terms[at] = scale * (float)sum;
#if HAS_OFFSETS
    scratch.terms[at + ROWS] =
        scale_of(place.offsets, w.scale_table, group, place.row) * shares[p];
#endif
  }
}

// The sum of a row of weights, in the first of its 16 threads: over pieces, in ascending order, of
// (scale x_scale) integer, and then, with offsets, of offset x_share: kernels/groups. The threads of
// a block compute terms in any order; the first of a row adds them.
FUNC float row_sum(Scratch scratch, Matrix w, Inputs x, uint row) {
  uint in_block = LOCAL_ID() % ROWS;
  uint lane = LOCAL_ID() / ROWS;
  GLOBAL const uchar* strip = w.weights + (size_t)(row / STRIP_ROWS) * w.strip_bytes;
  uint num_steps = w.padded_cols / STEP_INPUTS;
  float acc = 0;
  for (uint first = 0; first < num_steps; first += CHUNK_STEPS) {
    uint end = first + CHUNK_STEPS < num_steps ? first + CHUNK_STEPS : num_steps;
    uint before = first * STEP_PIECES;
#ifdef ENCODES
    encode_chunk(scratch.chunk, x.x, x.cols, first * STEP_INPUTS, end * STEP_INPUTS);
#endif
    for (uint step = first + lane; step < end; step += LANES) {
      Place place =
          place_of(strip, row % STRIP_ROWS, step * STEP_INPUTS, w.padded_cols, w.block_bytes);
#ifdef ENCODES
      step_terms(scratch, w, place, in_block, step * STEP_PIECES - before, scratch.chunk->codes,
                 scratch.chunk->scales, scratch.chunk->shares, scratch.chunk->sums);
#else
      step_terms(scratch, w, place, in_block, step * STEP_PIECES - before,
                 x.x + before * (PIECE / 4), x.scales + before, x.shares + before,
                 x.sums + before);
#endif
    }
    BARRIER();
    if (lane == 0) {
      for (uint i = 0; i < (end - first) * STEP_PIECES * TERMS; ++i) {
        acc = acc + scratch.terms[i * ROWS + in_block];
      }
    }
    BARRIER();
  }
  return acc;
}

// Block (i, r) has outputs 16 i to 16 i + 15 of row r of x. first_row: of the weights.
FUNC void multiply_row(Scratch scratch, Matrix w, Inputs x, GLOBAL float* y, uint y_row,
                       uint first_row, uint rows, Tails tails) {
  uint o = GROUP_X() * ROWS + LOCAL_ID() % ROWS;
  float sum = row_sum(scratch, w, x, first_row + (o < rows ? o : rows - 1));
  uint at = y_row * rows + o;
  if (LOCAL_ID() < ROWS && o < rows) y[at] = with_tails(sum, at, tails);
}

// y[r, o] = the sum of output o, with its tails.
KERNEL multiply_groups(WEIGHT_PARAMETERS, INPUT_PARAMETERS, GLOBAL float* y, uint rows,
                       uint padded_cols, uint strip_bytes, uint block_bytes, TAIL_PARAMETERS) {
  SHARED_MEMORY(scratch);
  MATRIX(w);
  INPUTS_OF(row, GROUP_Y());
  TAILS(tails);
  multiply_row(scratch, w, row, y, GROUP_Y(), 0, rows, tails);
}

// y[r, o] = FUNCTION(sum of output o) * (sum of output o + up_row).
KERNEL multiply_gated(WEIGHT_PARAMETERS, INPUT_PARAMETERS, GLOBAL float* y, uint rows,
                      uint padded_cols, uint strip_bytes, uint block_bytes, uint up_row) {
  SHARED_MEMORY(scratch);
  MATRIX(w);
  INPUTS_OF(row, GROUP_Y());
  uint o = GROUP_X() * ROWS + LOCAL_ID() % ROWS;
  uint known = o < rows ? o : rows - 1;
  float gate = row_sum(scratch, w, row, known);
  float up = row_sum(scratch, w, row, known + up_row);
  if (LOCAL_ID() < ROWS && o < rows) y[GROUP_Y() * rows + o] = FUNCTION(gate) * up;
}

// The same of pair r, with the expert experts[r]: `rows` of the weights. share: pairs of a row of x.
KERNEL multiply_experts(WEIGHT_PARAMETERS, INPUT_PARAMETERS, GLOBAL float* y, uint rows,
                        uint padded_cols, uint strip_bytes, uint block_bytes, TAIL_PARAMETERS,
                        GLOBAL const int* experts, uint share) {
  SHARED_MEMORY(scratch);
  MATRIX(w);
  INPUTS_OF(row, GROUP_Y() / share);
  TAILS(tails);
  multiply_row(scratch, w, row, y, GROUP_Y(), (uint)experts[GROUP_Y()] * rows, rows, tails);
}

#ifndef ENCODES
#define X_ROWS 8

// The same of many rows: a thread has an output of 8 rows of x, and adds the terms of each in order.
// The numbers of weights are decoded once for all of them.
KERNEL multiply_many(WEIGHT_PARAMETERS, INPUT_PARAMETERS, GLOBAL float* y, uint rows,
                     uint padded_cols, uint strip_bytes, uint block_bytes, uint x_rows,
                     TAIL_PARAMETERS) {
  TAILS(tails);
  uint o = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  if (o >= rows) return;
  GLOBAL const uchar* strip = weights + (size_t)(o / STRIP_ROWS) * strip_bytes;
  uint num_pieces = padded_cols / PIECE;
  uint first_row = GROUP_Y() * X_ROWS;
  uint x_row[X_ROWS];
  float acc[X_ROWS];
  for (uint i = 0; i < X_ROWS; ++i) {
    x_row[i] = first_row + i < x_rows ? first_row + i : x_rows - 1;
    acc[i] = 0;
  }
  for (uint p = 0; p < num_pieces; ++p) {
    Place place = place_of(strip, o % STRIP_ROWS, p * PIECE, padded_cols, block_bytes);
    int sums[X_ROWS];
    for (uint i = 0; i < X_ROWS; ++i) sums[i] = 0;
    for (uint quad = 0; quad < PIECE / 4; ++quad) {
      uint in_unit = p * PIECE % UNIT_INPUTS / 4 + quad;
      GLOBAL const uint* unit = place.unit + in_unit / 8 * UNIT_WORDS;
      int numbers = four_numbers(unit, codewords, in_unit % 8, place.row);
      for (uint i = 0; i < X_ROWS; ++i) {
        sums[i] = dot4(numbers, x[x_row[i] * (padded_cols / 4) + p * (PIECE / 4) + quad], sums[i]);
      }
    }
    uint group = place.input / GROUP;
    float scale = scale_of(place.scales, scale_table, group, place.row);
#if HAS_OFFSETS
    float offset = scale_of(place.offsets, scale_table, group, place.row);
#endif
    for (uint i = 0; i < X_ROWS; ++i) {
      uint at = x_row[i] * num_pieces + p;
      float product = (scale * x_scales[at]) * (float)level_sum(sums[i], x_sums[at]);
      acc[i] = acc[i] + product;
#if HAS_OFFSETS
      float share = offset * x_shares[at];
      acc[i] = acc[i] + share;
#endif
    }
  }
#pragma unroll 1
  for (uint i = 0; i < X_ROWS && first_row + i < x_rows; ++i) {
    uint at = x_row[i] * rows + o;
    y[at] = with_tails(acc[i], at, tails);
  }
}

// y[r] = row ids[r] of the weights: scale level, and then, with offsets, the sum with the offset.
// A thread has four inputs.
KERNEL decode_rows(GLOBAL const uchar* weights, GLOBAL const float* scale_table,
                   GLOBAL const codeword_t* codewords, GLOBAL const int* ids, GLOBAL float* y,
                   uint cols, uint padded_cols, uint strip_bytes, uint block_bytes) {
  uint input = 4 * (GROUP_X() * LOCAL_SIZE() + LOCAL_ID());
  if (input >= cols) return;
  uint o = (uint)ids[GROUP_Y()];
  GLOBAL const uchar* strip = weights + (size_t)(o / STRIP_ROWS) * strip_bytes;
  Place place = place_of(strip, o % STRIP_ROWS, input, padded_cols, block_bytes);
  uint group = place.input / GROUP;
  float scale = scale_of(place.scales, scale_table, group, place.row);
  uint numbers = (uint)four_numbers(place.unit, codewords, place.input % UNIT_INPUTS / 4, place.row);
  for (uint i = 0; i < 4 && input + i < cols; ++i) {
#if VECTOR > 1 || defined(LEVELS) || IS_BYTES
    int number = (schar)(numbers >> (8 * i) & 0xFFu);
#else
    int number = (int)(numbers >> (8 * i) & 0xFFu);
#endif
#if VECTOR == 1 && !defined(LEVELS)
    number = STEP * number + FIRST;
#endif
    float value = scale * (float)number;
#if HAS_OFFSETS
    value = value + scale_of(place.offsets, scale_table, group, place.row);
#endif
    y[GROUP_Y() * cols + input + i] = value;
  }
}
#endif
