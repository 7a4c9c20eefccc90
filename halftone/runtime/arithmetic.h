// SPDX-License-Identifier: Apache-2.0
// What a layer computes, apart from how.
#pragma once

#include <string>
#include <string_view>

namespace halftone::runtime {

/// The arithmetic of a kernel. It follows from the graph and the options of the plan alone, never
/// from the processor. All kernels of one arithmetic give the same bits for a layer, except those
/// of kFastestFloat.
enum class Arithmetic {
  kOperator,      ///< the operator's definition leaves no choice, or none that rounds
  kBits,          ///< inputs and weights bit by bit, exactly; then the bases
  kLevels,        ///< inputs and levels of the weights as 8-bit integers; then scales
  kFixedFloat,    ///< float32 in one order of sums
  kFastestFloat,  ///< float32 in the order of sums that is fastest on the processor
};

/// Pairs of bit planes, one of the input and one of the weights, up to which a layer of codes is
/// computed bit by bit: with more, 8-bit integers are faster for many rows on every processor.
inline constexpr int kMaxBitPairs = 5;
/// The same where 8-bit integers are disabled and float32 is the alternative.
inline constexpr int kMaxBitPairsBesideFloat = 9;

/// Whether a layer of codes is computed bit by bit. A rule on the encodings alone: never on the
/// number of rows or on costs, so that a sample has the same bits in every batch.
/// @param pairs             of bit planes
/// @param int8_activations  as in PlanOptions
constexpr bool computes_bits(int pairs, bool int8_activations) {
  return pairs <= (int8_activations ? kMaxBitPairs : kMaxBitPairsBesideFloat);
}
/// Why a layer of so many pairs is not computed bit by bit.
inline std::string too_many_pairs(int pairs) {
  return std::to_string(pairs) + " pairs of bit planes";
}

/// "8-bit inputs, weights bit by bit"
constexpr std::string_view text_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kOperator:
      return "as the operator says";
    case Arithmetic::kBits:
      return "inputs and weights bit by bit";
    case Arithmetic::kLevels:
      return "8-bit inputs, 8-bit levels of the weights";
    case Arithmetic::kFixedFloat:
      return "float32, one order of sums";
    case Arithmetic::kFastestFloat:
      return "float32, the processor's order of sums";
  }
  return {};
}

}  // namespace halftone::runtime
