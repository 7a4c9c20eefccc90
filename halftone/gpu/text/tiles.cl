// Products of many rows by units that multiply small matrices of int8. The integers of a piece come
// from them; the float sum runs over the pieces in order, in registers. After groups.cl. A warp of 32
// threads has 16 outputs of 64 rows of x, a block a strip.
//
// A thread of a warp holds, with g = lane / 4 and t = lane % 4 (PTX ISA, mma.m16n8k32 and others):
//
//     a of weights [16, 32]   row g, inputs 4 t to 4 t + 3 | row g + 8 | row g, inputs 16 + 4 t ... |
//                             row g + 8
//     b of x [8, 32]          row g, inputs 4 t ... | inputs 16 + 4 t ...
//     c of sums [16, 8]       (g, 2 t) | (g, 2 t + 1) | (g + 8, 2 t) | (g + 8, 2 t + 1)
//
// Those of 16 inputs are the first half of it. A test may define the instructions: MMA_16_8_32,
// MMA_16_8_16, MMA_8_8_16 (of devices that have no other, HAS_SMALL_TILES) and MMA_MEMORY.
#ifdef __CUDACC_RTC__
#define MMA_MEMORY
#define MMA_16_8_32(c, a0, a1, a2, a3, b0, b1)                                         \
  asm volatile(                                                                        \
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "                               \
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                          \
      : "+r"((c)[0]), "+r"((c)[1]), "+r"((c)[2]), "+r"((c)[3])                         \
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
#define MMA_16_8_16(c, a0, a1, b)                                                      \
  asm volatile(                                                                        \
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "                               \
      "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"                                   \
      : "+r"((c)[0]), "+r"((c)[1]), "+r"((c)[2]), "+r"((c)[3])                         \
      : "r"(a0), "r"(a1), "r"(b))
#define MMA_8_8_16(c, a, b)                                                            \
  asm volatile(                                                                        \
      "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"   \
      : "+r"((c)[0]), "+r"((c)[1])                                                     \
      : "r"(a), "r"(b))
#if __CUDA_ARCH__ < 800
#define HAS_SMALL_TILES
#endif
// All tiles, as registers have constant indices.
#define FOR_TILES(n, count) _Pragma("unroll") for (uint n = 0; n < TILES; ++n) if (n < (count))
#else
#define FOR_TILES(n, count) for (uint n = 0; n < (count); ++n)
#endif

#ifdef HAS_SMALL_TILES
#define MMA_K16(c, a0, a1, b) \
  MMA_8_8_16(c, a0, b);       \
  MMA_8_8_16((c) + 2, a1, b)
#define MMA_K32(c, a0, a1, a2, a3, b0, b1) \
  MMA_K16(c, a0, a1, b0);                  \
  MMA_K16(c, a2, a3, b1)
#else
#define MMA_K16 MMA_16_8_16
#define MMA_K32 MMA_16_8_32
#endif

#define WARP 32
#define WARP_OUTPUTS 16
#define TILE_ROWS 8                      // of x
#define TILES 8                          // of a warp
#define BLOCK_X_ROWS (TILES * TILE_ROWS)  // of a block of threads
#define STAGED_INPUTS 128                // that lie in shared memory at a time
#define STAGED_WORDS (STAGED_INPUTS / 4)
#define STAGED_PIECES (STAGED_INPUTS / PIECE)
#define STAGED_STRIDE (STAGED_WORDS + 4)  // words of a row: threads of a warp read different banks

// Rows of x that a block of threads reads again and again.
typedef struct {
  TO_SHARED int* codes;     // [row, word], in rows of STAGED_STRIDE
  TO_SHARED float* scales;  // [piece, row]
  TO_SHARED float* shares;
  TO_SHARED int* sums;
} Staged;

// Copies inputs [first, first + count) of rows from first_row on; the last row in place of others.
FUNC void stage_rows(Staged staged, Inputs x, uint padded_cols, uint x_rows, uint first_row,
                     uint first, uint count) {
  for (uint i = LOCAL_ID(); i < BLOCK_X_ROWS * (count / 4); i += LOCAL_SIZE()) {
    uint row = i / (count / 4);
    uint word = i % (count / 4);
    uint from = first_row + row < x_rows ? first_row + row : x_rows - 1;
    staged.codes[row * STAGED_STRIDE + word] =
        x.x[(size_t)from * (padded_cols / 4) + first / 4 + word];
  }
  for (uint i = LOCAL_ID(); i < BLOCK_X_ROWS * (count / PIECE); i += LOCAL_SIZE()) {
    uint row = i / (count / PIECE);
    uint piece = i % (count / PIECE);
    uint from = first_row + row < x_rows ? first_row + row : x_rows - 1;
    size_t at = (size_t)from * (padded_cols / PIECE) + first / PIECE + piece;
    staged.scales[piece * BLOCK_X_ROWS + row] = x.scales[at];
    staged.shares[piece * BLOCK_X_ROWS + row] = x.shares[at];
    staged.sums[piece * BLOCK_X_ROWS + row] = x.sums[at];
  }
}

// Adds the terms of a piece to the sums of four outputs of a thread. scales, offsets: of the rows of
// weights g and g + 8; at: of row 2 t of x among the staged ones of the piece.
FUNC void add_terms(float* acc, const int* sums, Staged staged, uint at, const float* scales,
                    const float* offsets) {
  for (uint i = 0; i < 4; ++i) {
    uint row = at + i % 2;
    float product =
        (scales[i / 2] * staged.scales[row]) * (float)level_sum(sums[i], staged.sums[row]);
    acc[i] = acc[i] + product;
#if HAS_OFFSETS
    float share = offsets[i / 2] * staged.shares[row];
    acc[i] = acc[i] + share;
#endif
  }
}

// y[r, o] = the sum of output o, with its tails. Block (i, j) has strip i and rows 64 j ... of x.
KERNEL multiply_tiles(WEIGHT_PARAMETERS, INPUT_PARAMETERS, GLOBAL float* y, uint rows,
                      uint padded_cols, uint strip_bytes, uint block_bytes, uint x_rows,
                      TAIL_PARAMETERS) {
  SHARED int staged_codes[BLOCK_X_ROWS * STAGED_STRIDE];
  SHARED float staged_scales[BLOCK_X_ROWS * STAGED_PIECES];
  SHARED float staged_shares[BLOCK_X_ROWS * STAGED_PIECES];
  SHARED int staged_sums[BLOCK_X_ROWS * STAGED_PIECES];
  SHARED float outputs[BLOCK_X_ROWS * STRIP_ROWS];
  MMA_MEMORY
  Staged staged;
  staged.codes = staged_codes;
  staged.scales = staged_scales;
  staged.shares = staged_shares;
  staged.sums = staged_sums;
  TAILS(tails);
  INPUTS_OF(all, 0);
  uint g = LOCAL_ID() % WARP / 4;
  uint t = LOCAL_ID() % 4;
  uint row = LOCAL_ID() / WARP * WARP_OUTPUTS + g;  // of the strip; the thread has row + 8 too
  GLOBAL const uchar* strip = weights + (size_t)GROUP_X() * strip_bytes;
  uint first_row = GROUP_Y() * BLOCK_X_ROWS;
  uint block_rows = x_rows - first_row < BLOCK_X_ROWS ? x_rows - first_row : BLOCK_X_ROWS;
  uint tiles = (block_rows + TILE_ROWS - 1) / TILE_ROWS;
  float acc[TILES][4];
  FOR_TILES(n, TILES) {
    for (uint i = 0; i < 4; ++i) acc[n][i] = 0;
  }
  for (uint first = 0; first < padded_cols; first += STAGED_INPUTS) {
    uint count = padded_cols - first < STAGED_INPUTS ? padded_cols - first : STAGED_INPUTS;
    stage_rows(staged, all, padded_cols, x_rows, first_row, first, count);
    BARRIER();
    for (uint p = 0; p < count / PIECE; ++p) {
      Place place = place_of(strip, row, first + p * PIECE, padded_cols, block_bytes);
      uint group = place.input / GROUP;
      float scales[2];
      float offsets[2];
      for (uint i = 0; i < 2; ++i) {
        scales[i] = scale_of(place.scales, scale_table, group, row + 8 * i);
        offsets[i] = 0;
#if HAS_OFFSETS
        offsets[i] = scale_of(place.offsets, scale_table, group, row + 8 * i);
#endif
      }
      int sums[TILES][4];
      FOR_TILES(n, TILES) {
        for (uint i = 0; i < 4; ++i) sums[n][i] = 0;
      }
#if PIECE == 16
      uint quad = place.input % UNIT_INPUTS / 4 + t;
      int a0 = four_numbers(place.unit, codewords, quad, row);
      int a1 = four_numbers(place.unit + 8, codewords, quad, row + 8);
      FOR_TILES(n, tiles) {
        TO_SHARED const int* x_row = staged.codes + (n * TILE_ROWS + g) * STAGED_STRIDE + p * 4 + t;
        MMA_K16(sums[n], a0, a1, x_row[0]);
      }
#else
      for (uint k = 0; k < PIECE / UNIT_INPUTS; ++k) {
        GLOBAL const uint* unit = place.unit + k * UNIT_WORDS;
        int a0 = four_numbers(unit, codewords, t, row);
        int a1 = four_numbers(unit + 8, codewords, t, row + 8);
        int a2 = four_numbers(unit, codewords, t + 4, row);
        int a3 = four_numbers(unit + 8, codewords, t + 4, row + 8);
        FOR_TILES(n, tiles) {
          TO_SHARED const int* x_row = staged.codes + (n * TILE_ROWS + g) * STAGED_STRIDE +
                                       (p * PIECE + k * UNIT_INPUTS) / 4 + t;
          MMA_K32(sums[n], a0, a1, a2, a3, x_row[0], x_row[4]);
        }
      }
#endif
      FOR_TILES(n, tiles) {
        add_terms(acc[n], sums[n], staged, p * BLOCK_X_ROWS + n * TILE_ROWS + 2 * t, scales,
                  offsets);
      }
    }
    BARRIER();
  }
  FOR_TILES(n, tiles) {
    for (uint i = 0; i < 4; ++i) {
      outputs[(n * TILE_ROWS + 2 * t + i % 2) * STRIP_ROWS + row + i / 2 * 8] = acc[n][i];
    }
  }
  BARRIER();
  for (uint i = LOCAL_ID(); i < block_rows * STRIP_ROWS; i += LOCAL_SIZE()) {
    uint o = GROUP_X() * STRIP_ROWS + i % STRIP_ROWS;
    uint at = (first_row + i / STRIP_ROWS) * rows + o;
    if (o < rows) y[at] = with_tails(outputs[i], at, tails);
  }
}
