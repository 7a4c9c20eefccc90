// SPDX-License-Identifier: Apache-2.0
// Attention over caches of keys and values, and rotary positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/view.h"
#include "halftone/kernels/attention/cache.h"
#include "halftone/kernels/block_range.h"

namespace halftone::kernels {

/// The sizes and constants of an attention layer.
struct AttentionShape {
  std::size_t heads = 1;     ///< of queries
  std::size_t kv_heads = 1;  ///< of keys and values; divides heads
  std::size_t key_size = 0;
  std::size_t value_size = 0;
  float scale = 1;         ///< finite; usually 1 / sqrt(key_size)
  float softcap = 0;       ///< finite, >= 0; 0 for none
  std::size_t window = 0;  ///< positions that a query sees, its own included; 0 for all before it
  std::span<const float> sinks{};  ///< [heads], scores of nothing; or none

  /// Query heads that read the same keys and values: head h reads those of head h / group().
  [[nodiscard]] constexpr std::size_t group() const { return heads / kv_heads; }
  /// The first position that a query sees.
  [[nodiscard]] constexpr std::size_t first_seen(std::size_t position) const {
    return window == 0 || position < window ? 0 : position + 1 - window;
  }
};

/// Tokens whose weights are rounded together where values are stored as integers.
inline constexpr std::size_t kWeightGroup = 32;
/// Steps of rounded weights.
inline constexpr int kWeightSteps = 32767;
/// Steps of rounded queries: as many as 16 bits and the sum of `size` products with integers of
/// kInt8, in 32, have room for. With those of kInt6, too, which are fewer.
constexpr int query_steps(std::size_t size) {
  const std::size_t most = size == 0 ? 0x7fff : 0x7fffffff / (127 * size);
  return most < 0x7fff ? static_cast<int>(most) : 0x7fff;
}

/// A cache with its contents.
struct CacheView {
  CacheShape shape;
  std::span<const std::byte> bytes;
};

/// What attend() reads.
struct AttentionInputs {
  AttentionShape shape;
  MatrixView<const float> queries;  ///< [N, heads * key_size]
  CacheView keys;                   ///< kv_heads heads of key_size; holds the keys of all N rows
  CacheView values;                 ///< kv_heads heads of value_size, of the same sequences
  CacheRows rows;                   ///< N rows; see require_rows()
};

/// For each row and head h: out = (sum_t e_t v_t) / (sum_t e_t + exp(sinks[h] - max s)) over the
/// positions t that the row sees, from first_seen(p) to its own position p, with
///
///     s_t = scale (q . k_t),   then softcap tanh(s_t / softcap) if there is a softcap
///     e_t = exp(s_t - max s)   with exp and tanh as in activation.h
///
/// Without sinks their summand is missing. With a sink far above all scores out is 0.
///
/// Every operation is rounded to float32, and no sum depends on the other rows, on the ranges or on
/// the vector length. q . k_t starts from 0 and adds the products in order. e_t is added to partial
/// sum t mod 16, in ascending order; then partial sum l + h is added to l, for h = 8, 4, 2, 1. The
/// sum of values starts from 0 and adds the products e_t v_t in the order of t. A head with NaN,
/// +infinity or only -infinity among its scores becomes NaN.
///
/// Rotated keys are multiplied by queries after numerics::rotate_blocks(), and outputs of rotated
/// values are turned back by it. Numbers of kInt4 are floats, without rounding.
///
/// The integers of kInt8 and kInt6, with scales k'_t and v'_t, are multiplied by integers of 16
/// bits, whose sums are exact. x is rounded to n steps on either side of zero as quantize_rows()
/// does to 127, with a scale x'. For keys, q is rounded with n = query_steps(key_size), and
///
///     s_t = (sum_i q_i k_ti) k'_t (q' scale)
///
/// from left to right. For values, w_t = e_t v'_t is rounded with n = 32767 per group of tokens
/// 32 g to 32 g + 31, and the sum of values is that of (sum_t w_t v_t) w'_g in the order of g.
/// @param pairs    pairs of a row and a head of keys to compute: pair i is row i mod N and head
///                 i / N, with the group() heads of queries that read it. Pairs of neighbouring
///                 rows of a prompt share what they read
/// @param scratch  [attend_scratch_bytes()], aligned to 64 bytes
/// @param out      [N, heads * value_size]; only the heads of these pairs are written
void attend(const AttentionInputs& in, BlockRange pairs, std::span<std::byte> scratch,
            MatrixView<float> out) noexcept;

/// Scratch memory of one call of attend(), whatever its rows are.
/// @param context  that of the caches
std::size_t attend_scratch_bytes(const AttentionShape& shape, std::size_t context);

/// Queries, keys and values of the T tokens of one sample.
struct SampleInputs {
  MatrixView<const float> queries;  ///< [T, heads * key_size]
  MatrixView<const float> keys;     ///< [T, kv_heads * key_size]
  MatrixView<const float> values;   ///< [T, kv_heads * value_size]
};

/// Attention inside a sample, where a token sees itself and the tokens before it: attend() on a
/// cache of type kFloat32 with these keys and values, bit for bit.
/// @param kv_heads  which heads of keys to compute
/// @param out       [T, heads * value_size]; only the heads of queries that read these are written
/// @throws Error kMemory as AlignedBuffer
void attend_causal(const AttentionShape& shape, const SampleInputs& in, BlockRange kv_heads,
                   MatrixView<float> out);

/// Reference implementation of attend() in plain loops, for all rows and heads.
void attend_reference(const AttentionInputs& in, MatrixView<float> out);

/// Which numbers of a head make pair i.
enum class RotaryPairing {
  kInterleaved,  ///< 2i and 2i + 1
  kNeox,         ///< i and i + dims / 2
};

/// The heads of a row and the turned part of each.
struct RotaryShape {
  std::size_t heads = 1;
  std::size_t dims = 0;  ///< even; numbers at the start of each head that are turned, or all
  RotaryPairing pairing = RotaryPairing::kNeox;
};

/// Cosines and sines of all angles.
struct RotaryTables {
  MatrixView<const float> cosines;  ///< [C, dims / 2]
  MatrixView<const float> sines;    ///< [C, dims / 2]
};

/// Checks what rotate() relies on.
/// @param context  C of the tables
/// @throws Error kUsage if a position is not in [0, context): the message names the row
void require_positions(std::span<const std::int32_t> positions, std::size_t context);

/// Turns pair i = (a, b) of every head of row n to (a c - b s, a s + b c), where c and s are number
/// i of row positions[n] of the tables; each product and each sum is rounded. The numbers from dims
/// on are copied.
/// @param x          [N, heads * size], size >= dims
/// @param positions  [N]; see require_positions()
/// @param y          [N, heads * size]; may be the memory of x
void rotate(const RotaryShape& shape, MatrixView<const float> x,
            std::span<const std::int32_t> positions, const RotaryTables& tables,
            MatrixView<float> y) noexcept;

/// Reference implementation of rotate() in plain loops.
void rotate_reference(const RotaryShape& shape, MatrixView<const float> x,
                      std::span<const std::int32_t> positions, const RotaryTables& tables,
                      MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
