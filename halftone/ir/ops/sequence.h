// SPDX-License-Identifier: Apache-2.0
// Operators of language models that place tokens in a sequence or mix them: rotary positions, rows
// kept for later tokens, attention. All others treat the tokens of a run as samples.
#pragma once

#include <array>
#include <cstdint>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// How a cache stores numbers.
enum class CacheNumbers : std::uint8_t {
  kFloat32,
  kFloat16,  ///< the nearest, ties to even
  kInt8,  ///< R s q with s = max |R x| / 127 for the numbers of a head, q = round half even(R x /
          ///< s)
  kInt6,  ///< the same with 31 in the place of 127
  kInt4,  ///< R times the numbers of numerics::encode_nibbles() for groups of 32 of R x, of a head
};
/// R is numerics::rotate_blocks() of a head, its own inverse.
std::string_view to_string(CacheNumbers numbers);  ///< "float32", "float16", "int8", "int6", "int4"
/// All, in the order of their bits.
inline constexpr std::array kCacheNumbers = {CacheNumbers::kFloat32, CacheNumbers::kFloat16,
                                             CacheNumbers::kInt8, CacheNumbers::kInt6,
                                             CacheNumbers::kInt4};

/// y = state, except that y[slots[n], positions[n], :] = rows[n, :], rounded to what the cache
/// stores. Inputs: state [S, C, W], rows [N, W], slots and positions int32 [N]; no two rows have
/// the same place. evaluate() throws Error kShape for a place outside of the state.
///
/// S sequences of C tokens at most. A graph ties the output to the input; see Graph::tie().
struct AppendRows {
  static constexpr std::string_view kName = "AppendRows";
  static constexpr std::size_t kMinInputs = 4;
  static constexpr std::size_t kMaxInputs = 4;
  CacheNumbers numbers = CacheNumbers::kFloat32;
  std::size_t heads = 1;  ///< pieces of a row that types of integers round each by itself
  bool operator==(const AppendRows&) const = default;
};

/// y[n, h, :] = sum_t p_t v[t, g, :] for head h, with g = h / (heads / kv_heads) and
///
///     p_t = e^(s_t - max s) / (sum_u e^(s_u - max s) + e^(sinks[h] - max s))
///     s_t = cap(scale sum_d q[n, h, d] k[t, g, d])
///     cap(s) = softcap tanh(s / softcap), or s if softcap is 0
///
/// where t are the tokens that n sees: those up to its own position, with a window the last
/// `window` of them. Source: Vaswani et al., 2017, arXiv:1706.03762, Sec. 3.2; groups of heads:
/// Ainslie et al., 2023, arXiv:2305.13245; window: arXiv:2310.06825; softcap: arXiv:2408.00118;
/// sinks: OpenAI, 2025, arXiv:2508.10925, Sec. 2.3.
///
/// Inputs with states: q [N, heads D], keys [S, C, kv_heads D], values [S, C, kv_heads E], slots
/// and positions int32 [N]: token n sees positions 0 to positions[n] of sequence slots[n]. Without:
/// q [B, T, heads D], k [B, T, kv_heads D], v [B, T, kv_heads E], slots and positions absent: token
/// t of a sample sees 0 to t. Then sinks float32 [heads]; absent, their summand is 0.
/// Output [N, heads E] or [B, T, heads E].
struct Attention {
  static constexpr std::string_view kName = "Attention";
  static constexpr std::size_t kMinInputs = 3;
  static constexpr std::size_t kMaxInputs = 6;
  static constexpr std::size_t kSlots = 3;  ///< indices of inputs
  static constexpr std::size_t kPositions = 4;
  static constexpr std::size_t kSinks = 5;
  std::size_t heads = 1;
  std::size_t kv_heads = 1;
  float scale = 1;
  float softcap = 0;
  std::size_t window = 0;  ///< 0: none
  bool operator==(const Attention&) const = default;
};

/// Which numbers of a head are a pair.
enum class RotaryPairing : std::uint8_t {
  kInterleaved,  ///< 2i and 2i + 1, as in GGUF's llama
  kNeox,         ///< i and i + dims / 2
};
std::string_view to_string(RotaryPairing pairing);  ///< "neighbours", "halves"

/// Turns pair i = (a, b) of each head of a token at position p by an angle that tables hold:
///
///     (a cos[p, i] - b sin[p, i], a sin[p, i] + b cos[p, i])
///
/// Inputs: x [..., heads D]; positions int32, of the shape of the leading axes of x or of the last
/// of these; cos and sin [C, dims / 2]. Numbers from `dims` on stay. evaluate() throws Error kShape
/// for a position that the tables lack. Source: Su et al., 2021, arXiv:2104.09864, Sec. 3.4.2.
struct Rotary {
  static constexpr std::string_view kName = "Rotary";
  static constexpr std::size_t kMinInputs = 4;
  static constexpr std::size_t kMaxInputs = 4;
  std::size_t heads = 1;
  std::size_t dims = 2;  ///< even, D at most
  RotaryPairing pairing = RotaryPairing::kNeox;
  bool operator==(const Rotary&) const = default;
};

ValueType infer_types(const AppendRows& op, InputTypes inputs);
ValueType infer_types(const Attention& op, InputTypes inputs);
ValueType infer_types(const Rotary& op, InputTypes inputs);
Tensor evaluate(const AppendRows& op, InputTensors inputs);
Tensor evaluate(const Attention& op, InputTensors inputs);
Tensor evaluate(const Rotary& op, InputTensors inputs);
std::string attributes(const AppendRows& op);
std::string attributes(const Attention& op);
std::string attributes(const Rotary& op);

/// The numbers that a cache stores, in place of a row. @param row  its length is a multiple of
/// heads
void round_to_cache(const AppendRows& op, std::span<float> row);

}  // namespace halftone::ir
