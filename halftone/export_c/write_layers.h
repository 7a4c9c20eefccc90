// SPDX-License-Identifier: Apache-2.0
// Functions of the C program by family of operators. Each returns false if the node is none of its
// family, and throws as Scope::refuse() if C has no kernel for it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export_c/scope.h"
#include "halftone/export_c/sum_codes.h"

namespace halftone::export_c {

inline constexpr std::size_t kMaxAxes = 4;  ///< of operands with steps of their own

bool write_integer_layer(Scope& scope);  ///< FullyConnected and Conv of int8
bool write_pool(Scope& scope);           ///< Pool of int8
bool write_pair(Scope& scope);           ///< Binary and Reduce of codes, with their conversions
bool write_function(Scope& scope);       ///< Lookup, conversions, Softmax
bool write_move(Scope& scope);           ///< Concat, Pad, Transpose, Slice
bool write_encode(Scope& scope);         ///< Encode
bool write_code_layer(Scope& scope);     ///< FullyConnected and Conv of codes of few bits
bool write_choice(Scope& scope);         ///< Where, Cast, comparisons, functions of booleans
bool write_float(Scope& scope);          ///< FullyConnected, Conv, Binary, Unary, Pool of float32
bool write_statistic(Scope& scope);      ///< Softmax, Reduce, ArgReduce, Normalize
bool write_picks(Scope& scope);      ///< Gather, Resize, Pad but for constants, BroadcastTo, Tile
bool write_products(Scope& scope);   ///< MatMul and ConvTranspose of float32
bool write_recurrent(Scope& scope);  ///< Recurrent

/// The function of a node: the first of these that writes it.
/// @throws Error kUnsupported as Scope::refuse()
LayerFunction write_layer(const NodeToWrite& what, const std::string& prefix, std::size_t index);

/// The line "static const ht_codes codes = {...};" for a Requantize, with its arrays.
void add_codes(Scope& scope, const ir::Requantize& op);

/// Adds an activation that has limits, in place.
/// @param y  a pointer to so many numbers
void add_activation(Scope& scope, const ir::Activation& activation, const std::string& y,
                    std::size_t count, bool is_in_loop);

/// Adds the line "static const ht_encoder encoder = {...};" with its arrays.
/// @return the kernel for rows of such codes, which add_row_codes() takes
/// @param activation  applied before
/// @param to          of the codes
std::string add_encoder(Scope& scope, const numerics::MatrixEncoding& encoding,
                        const ir::Activation& activation, const CodeRows& to);

/// The expression where kernels write the codes of row `row` of y, which end_codes() then puts in
/// their place. @param row  the name of an index
std::string begin_codes(Scope& scope, const CodeRows& to, const std::string& row);
void end_codes(Scope& scope, const CodeRows& to, const std::string& row);
/// Adds lines in a loop that encode a row of float32 numbers by `encoder` of add_encoder().
void add_row_codes(Scope& scope, const CodeRows& to, const std::string& kernel,
                   const std::string& numbers, const std::string& row);

/// Adds lines that encode rows of float32 numbers to the output of the layer.
void add_encode(Scope& scope, const ir::Encode& encode, const std::string& x);

/// How sums of integers become codes of few levels.
struct SumEncoder {
  static constexpr std::size_t kMaxLevels = 3;  ///< thresholds
  LevelCounter counter;
  ir::Activation limited;  ///< before the encoder
  CodeRows to;
  std::vector<std::int8_t> codes;  ///< of the levels; empty where codes are bit planes
};
/// @param activation  part of the encoder, see add_encoder()
/// @param limited     applied before
/// @return nothing if codes have more levels or another order, or activations no limits
std::optional<SumEncoder> sum_encoder(const numerics::MatrixEncoding& encoding,
                                      const ir::Activation& activation,
                                      const ir::Activation& limited, const CodeRows& to);
/// Names of arrays with the thresholds of sums.
struct SumThresholds {
  std::string thresholds;  ///< [rows, levels], or [rows] the first of each
  std::string steps;       ///< [rows, 2] from each to the next; empty: none
  std::string falling;     ///< SumCodes::falls as bits, or "0" if all are rising
};
/// Adds these arrays; with steps where there are three thresholds that lie close together.
SumThresholds add_thresholds(Scope& scope, const SumCodes& codes, const SumEncoder& encoder);
/// Adds a line within a loop that encodes `sums`.
/// @param pattern  the name of the index of the rows of thresholds; empty if there is one
void add_sum_encoder(Scope& scope, const SumEncoder& encoder, const SumThresholds& thresholds,
                     const std::string& pattern, const std::string& y);

/// Ends a block that computes `number`, of an output whose sum find_sum_codes() says is unsure:
/// encodes it by `encoder` of add_encoder().
void add_unsure_code(Scope& scope, const SumEncoder& encoder, std::size_t output,
                     std::size_t outputs, const std::string& y);

/// An image of one or two spatial axes and a window on it, as lines of C.
struct WindowExtents {
  ir::Dim height, width, channels;
  ir::Dim out_height, out_width, outputs;
  ir::Dim kernel_height, kernel_width;
  ir::Dim stride_y, stride_x, dilation_y, dilation_x, pad_top, pad_left;
};
/// @throws Error kUnsupported as Scope::refuse() unless there are one or two spatial axes
WindowExtents window_extents(const Scope& scope, const ir::Window& window,
                             std::span<const ir::Dim> kernel);
/// Adds the line "static const ht_window window = {...};".
void add_window(Scope& scope, const WindowExtents& extents);

/// "1, 32, 32"
template <typename... Numbers>
std::string arguments(const Numbers&... numbers) {
  std::string text;
  const auto add = [&](const auto& number) {
    if (!text.empty()) text += ", ";
    if constexpr (requires { std::to_string(number); }) {
      text += std::to_string(number);
    } else {
      text += number;
    }
  };
  (add(numbers), ...);
  return text;
}

}  // namespace halftone::export_c
