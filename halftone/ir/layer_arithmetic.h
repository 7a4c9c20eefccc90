// SPDX-License-Identifier: Apache-2.0
// Which arithmetic a layer has: its attribute, or a rule. Used to quantize, store, show and run it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// The codes of a layer's operands: all that decides which arithmetics it can have.
struct LayerCodes {
  int input_bits = 0;          ///< of the input, or of the states of a Recurrent; 0: float32
  int input_digits = 0;        ///< bit planes of the input that are multiplied one by one: a Conv
                               ///< groups them (numerics::split_digits())
  int weight_bits = 0;         ///< 0: float32
  std::size_t group_size = 0;  ///< inputs that share a scale of the weights; 0: all of an output
  const numerics::BlockEncoding* blocks = nullptr;  ///< of the weights, owned by the graph; or null
  /// Codebooks that exclude an arithmetic; null where there is none.
  const numerics::Codebook* unsummed_input = nullptr;    ///< bits are no signs of coefficients
  const numerics::Codebook* unsummed_weights = nullptr;  ///< the same
  const numerics::Codebook* off_grid = nullptr;          ///< levels are no 8-bit integers

  /// Sets what follows from the encoding of the input or of the weights.
  void set_input(const numerics::MatrixEncoding& encoding);
  void set_weights(const numerics::MatrixEncoding& encoding);
  [[nodiscard]] bool weights_are_summed() const { return unsummed_weights == nullptr; }
  [[nodiscard]] bool any() const { return input_bits != 0 || weight_bits != 0; }
  /// Products of a digit of the input and a bit plane of the weights.
  [[nodiscard]] int bit_pairs() const { return input_digits * weight_bits; }
};
/// @pre arithmetic(node.op) is not null
LayerCodes layer_codes(const Graph& graph, const Node& node);

/// Bits of the numbers that a value may have: of its codes, of a codeword its share; for the output
/// of a DequantizeLinear, and of the Cast of a float of 16 bits, those of its input, of a
/// FakeQuantize those it rounds to; otherwise of its elements.
double number_bits(const Graph& graph, ValueId value);

/// Pairs of bit planes up to which the rule computes bits: with more, 8-bit integers are faster for
/// many rows on every processor.
inline constexpr int kMaxBitPairs = 5;
/// The same where float32 is the alternative.
inline constexpr int kMaxBitPairsBesideFloat = 9;

/// Largest number of inputs of an output: exact in the sums of the kernels.
inline constexpr std::size_t kMaxBitInputs = std::size_t{1} << 24;
inline constexpr std::size_t kMaxBitConvInputs = 32767;
inline constexpr std::size_t kMaxIntegerInputs = std::size_t{1} << 16;
/// Above this a convolution of integers gathers the inputs of a pixel; see gathers_inputs().
inline constexpr std::size_t kMaxIntegerConvInputs = 32767;
/// Inputs of a group that share a scale are a multiple of this many channels of a tap, or else a
/// convolution of integers gathers them.
inline constexpr std::size_t kGroupedConvChannels = 4;
inline constexpr std::size_t kMaxDepthwiseTaps = 512;

/// Whether each output of a convolution sees one channel, through few taps.
/// @param weights  [O, kernel..., C / groups]
bool is_depthwise(const Conv& op, const Shape& weights);
/// Whether a convolution of integers gathers the inputs of each output pixel, which is slower than
/// reading them where they are: of many inputs, and of groups that end within some channels.
/// @param weights     [O, kernel..., C / groups]
/// @param group_size  inputs that share a scale of the weights; 0: all of an output
bool gathers_inputs(const Shape& weights, std::size_t group_size);
/// Whether the windows of a Conv are of a size that kernels on lines of pixels support: what a line
/// sees fits in memory, and the patterns of taps in the padding are few.
bool has_usual_window(const Graph& graph, const Node& node);

/// Why a layer cannot have an arithmetic because of its codes; nothing if it can.
/// @pre arithmetic(op) is not null
std::optional<std::string> why_not(Arithmetic wanted, const Operator& op, const LayerCodes& codes);
/// The same because of its codes, its weights or its extents: no kernel computes it.
std::optional<std::string> why_not(Arithmetic wanted, const Graph& graph, const Node& node);

/// The arithmetic of a layer without the attribute. With p pairs of bit planes:
///
///     groups    if the weights are stored in blocks of codes
///     bits      if input and weights have codes, a basis per output or larger, and p <= 5
///     integers  else, if the weights have codes and, for a Conv, the input, and no FakeQuantize
///               has rounded it
///     float     else
///
/// Bits need number systems whose bits are signs of coefficients, integers those whose levels lie
/// on a grid of 8 bits (MatrixEncoding::is_summed(), fits_integers()). A depthwise Conv has no
/// bits, a ConvTranspose and a Conv with few outputs per group are float. Depends on the network
/// alone: not on the batch, the processor or costs.
/// @param int8_activations  whether integers and groups are allowed; if not, p <= 9 is computed as
///                          bits
/// @return not kAuto; nothing for an operator without this choice and for products of integers
std::optional<Arithmetic> arithmetic_by_rule(const Graph& graph, const Node& node,
                                             bool int8_activations = true);
/// Why the rule does not say kGroups, kBits or kIntegers; nothing if it may. The first of these
/// three that may be is what it says.
std::optional<std::string> why_not_by_rule(Arithmetic wanted, const Graph& graph, const Node& node,
                                           bool int8_activations = true);
/// Whether the rule decides about a layer: it has no attribute, or that of integers or groups where
/// these are not allowed. @pre arithmetic(op) is not null
bool follows_rule(const Operator& op, bool int8_activations = true);
/// The arithmetic of a layer: its attribute, or by the rule. If integers are not allowed, a layer
/// of integers gets what the rule then says.
/// @return as arithmetic_by_rule()
std::optional<Arithmetic> arithmetic_of(const Graph& graph, const Node& node,
                                        bool int8_activations = true);

}  // namespace halftone::ir
