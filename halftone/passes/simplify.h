// SPDX-License-Identifier: Apache-2.0
// The passes that simplify() runs, each of which leaves a graph that computes the same function.
#pragma once

#include <cstddef>

#include "halftone/ir/graph.h"

namespace halftone::passes {

struct FoldOptions {
  /// Whether integers behind a DequantizeLinear, and weights of floats of 16 bits, become float32.
  /// Off by default, because that quadruples the weights of an int8 file and loses their form.
  bool widen = false;
  /// Maximum growth of a result over its inputs.
  std::size_t max_growth_bytes = std::size_t{16} << 20;
};

/// Computes nodes that depend only on constants.
///
///     [a]   [b]
///       \   /
///        Add     x             [a + b]   x
///          \    /       ->          \   /
///            Mul                     Mul
///
/// Unchanged: Encode and readers of codes, whose result would be larger than the codes; also
/// DequantizeLinear and the Cast of 16-bit weights, unless requested.
/// @return whether the graph changed
bool fold_constants(ir::Graph& graph, const FoldOptions& options = {});

/// Computes with one row instead of one row for every sample, where a constant is repeated for the
/// samples. PyTorch starts unrolled recurrent layers so:
///
///     [0]
///      |
///     BroadcastTo [N, 32]
///      |
///     FullyConnected [N, 8]   x      ->    [FullyConnected(0)]   x
///          \                 /                  \               /
///                 Add                                  Add
///
/// A Reshape, Slice or Transpose of a repeated number repeats it in another shape. A FullyConnected
/// of a repeated number repeats its result for one row. A Binary reads the constant itself, or
/// repeats its result if the other operand is a constant too.
/// @return whether the graph changed
bool fold_broadcasts(ir::Graph& graph);

/// Turns products with a stored matrix into layers, whose weights can be encoded.
///
///     x    [b: k x o]            x    [b^T: o x k]
///      \    /             ->      \    /
///      MatMul                  FullyConnected
///
/// The matrix may also be dequantized from stored integers. Then a Transpose follows the
/// DequantizeLinear, and remove_transposes() moves it into the constant.
/// @return whether the graph changed
bool match_fully_connected(ir::Graph& graph);

/// Moves additions to and scalings of a layer's outputs into its bias and weights.
///
///     x  [w]  [b]                      x  [s w]  [s b + t]
///      \  |  /                          \   |   /
///    FullyConnected  [s]                FullyConnected
///              \    /            ->
///               Mul  [t]
///                 \  /
///                  Add
///
/// The layer may also be a Conv or ConvTranspose. s and t are constants that broadcast along the
/// outputs: operands of Add, Sub (in either order), Mul, or Div by a constant. A BatchNormalization
/// behind a layer has this form. An activation of the Add or Mul moves to the layer. Unchanged:
/// layers with another reader, scales of weights that are shared or not dense float32, and scales
/// that would make a weight infinite.
/// @return whether the graph changed
bool fuse_bias(ir::Graph& graph);

/// Finds a Gelu that an exporter wrote operator by operator, as exporters do for ONNX below
/// operator set 20.
///
///        x                                     x
///       / \                                    |
///      |   Div by sqrt 2              ->      Gelu
///      |   |                                   |
///      |   Erf                                 y
///      |   |
///      |   Add 1
///       \ /
///       Mul
///        |
///       Mul by 1/2
///        |
///        y
///
/// and the approximation x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. Matches the formula
/// regardless of the order of sums and products and of how constants are split; constants may
/// deviate by 1e-4 of their value. No other node may read an intermediate value.
/// @return whether the graph changed
bool fuse_gelu(ir::Graph& graph);

/// Moves an activation into the operator whose output only it reads.
///
///     x  [w]  [b]                     x  [w]  [b]
///      \  |  /                         \  |  /
///    FullyConnected         ->       FullyConnected, Relu
///         |
///        Relu
///
/// Applies to FullyConnected and binary operators without an activation.
/// @return whether the graph changed
bool fuse_activation(ir::Graph& graph);

/// Removes operators that return their input.
///
///     x                              x
///     |                              |
///     Identity, Cast to x's type,    |     x               x
///     Reshape to x's shape,       -> |     |               |
///     Slice of all of x, Concat      |     Reshape   ->    Reshape
///     of x alone, Transpose that     |     |               |
///     moves no axis, x + 0, x - 0,   |     Reshape         y
///     x * 1, x / 1                   |     |
///     |                              |     y
///     y                              y
///
/// A neutral Add, Sub, Mul or Div with an activation becomes that activation. A pair of
/// QuantizeLinear and DequantizeLinear is not an identity and stays. An operator whose input and
/// output are both inputs or outputs of the graph also stays, because both names must be kept.
/// @return whether the graph changed
bool remove_identities(ir::Graph& graph);

/// Moves transposes towards the outputs until they meet and cancel.
///
///     x                                               x
///     |                                               |
///     Transpose  [c]      x   [c']                    Relu(x + c')
///           \    /         \  /                       |
///            Add      ->    Add      ->  ...   ->     |
///             |              |                        |
///            Relu           Transpose                 |
///             |              |                        |
///         Transpose         Relu                      |
///             |              |                        |
///             y             Transpose                 y
///                            |
///                            y
///
/// A transpose passes an operator if all that is transposed comes in by the same permutation and
/// every other reader lets it pass too: functions of one number, operators of two operands
/// (constants are transposed the other way), and those that ir::before_transpose() maps. Two in a
/// row become one, one that only moves axes of extent 1 becomes a Reshape, and one behind a
/// DequantizeLinear of a constant is applied to the constant.
/// @return whether the graph changed
bool remove_transposes(ir::Graph& graph);

/// Merges nodes that compute the same value.
///
///     x ---> Encode ---> layer1            x ---> Encode ---> layer1
///     |                             ->               |
///     +----> Encode ---> layer2                      +------> layer2
///
/// Two nodes are equal if their operators and inputs are equal. Constants merge if they share their
/// storage, or are equal and small, because importers write a scalar once per reader. Equal
/// constants also merge if one of them is a lookup table: files often store the tied embedding
/// table and last layer of a language model twice.
/// @return whether the graph changed
bool merge_duplicates(ir::Graph& graph);

/// Runs every pass of this module in a fixed order until none changes the graph. The graph computes
/// the same function up to rounding; inputs and outputs keep their names and order.
/// @return whether the graph changed
/// @throws Error kFormat or kShape if the graph is invalid; see ir::verify()
bool simplify(ir::Graph& graph, const FoldOptions& options = {});

/// The same for a graph that is only executed: layers between conversions compute with integers
/// (use_integers()), and remaining integer constants become float32.
bool simplify_to_run(ir::Graph& graph);

}  // namespace halftone::passes
