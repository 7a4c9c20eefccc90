// SPDX-License-Identifier: Apache-2.0
// What is known about an operator besides its shape rule and its meaning. Ask here instead of
// listing operator types.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "halftone/ir/operator.h"

namespace halftone::ir {

/// How the elements of the output depend on those of the inputs. Source: the operator patterns of
/// TVM (Chen et al., 2018, arXiv:1802.04799, Sec. 3). Differs: moves, conversions and windows are
/// kinds of their own.
enum class Pattern : std::uint8_t {
  kMove,         ///< copies of input elements; a Scatter may combine those that meet, a cropped
                 ///< Resize has a number of its own outside
  kElementwise,  ///< each from the elements at its own (broadcast) index
  kConvert,      ///< the same, between representations of a number: codes, integers, levels
  kReduce,       ///< each from the elements along some axes: sums, extremes, sorted positions
  kNormalize,    ///< each from one element and a statistic of its neighbours
  kWindow,       ///< each from neighbouring elements: pooling, interpolation
  kProduct,      ///< sums of products of two tensors
};

/// How an operator reads weights.
enum class LayerKind : std::uint8_t {
  kNone,
  kAffine,     ///< y = W x + b, one row of W per output: FullyConnected, Conv, ConvTranspose
  kRecurrent,  ///< multiplies its own states
  kTable,      ///< looks up rows: a Gather along axis 0
};

/// What an input is for.
enum class InputRole : std::uint8_t {
  kData,       ///< elements that the output is computed from
  kWeights,    ///< the matrix of a layer
  kBias,       ///< added, one number per output
  kScale,      ///< multiplied, one number per output
  kFactor,     ///< data or weights: the operands of a MatMul
  kIndices,    ///< positions or lengths
  kState,      ///< the state that a recurrence starts with
  kCondition,  ///< booleans that select
};

/// By input; the inputs of a Concat past the last one here are data as well.
using InputRoles = std::array<InputRole, 7>;

/// How the axes of the output correspond to those of the data inputs.
enum class AxisMap : std::uint8_t {
  kOther,    ///< another map, or axes with fixed meanings
  kAligned,  ///< axis i of the output is axis i of the inputs
  kReduced,  ///< aligned, but the axes that the attributes name are removed
};

struct OperatorTraits {
  Pattern pattern;
  LayerKind layer = LayerKind::kNone;
  /// Every element of the output equals one of the data inputs' (or the zero of a Pad), chosen by
  /// position or by order. The operator commutes with every increasing function that keeps zero.
  bool selects = false;
  /// Whether the output has a derivative with respect to a data input, almost everywhere and not
  /// zero everywhere. That of a function depends on the function: see Activation.
  bool differentiable = true;
  InputRoles inputs{};  ///< kData unless said otherwise
  AxisMap axes = AxisMap::kOther;
  /// Every element of the output is an element of a data input or zero, and which one follows from
  /// indices and attributes alone.
  bool copies = false;
  /// Every element of input 0 appears once in the output, perhaps under another index.
  bool permutes = false;
};

OperatorTraits traits_of(const Operator& op);

InputRole input_role(const Operator& op, std::size_t input);
/// Whether an operator only copies elements: Pattern::kMove.
bool moves_elements(const Operator& op);
/// Whether every output is an input or zero, chosen by indices and attributes: `copies`.
bool copies_elements(const Operator& op);
/// Whether every element of input 0 appears once in the output: `permutes`.
bool permutes_elements(const Operator& op);
/// Whether each output depends on the elements at its own index only: kElementwise, kConvert.
bool works_elementwise(const Operator& op);
/// Whether an operator sums, or weighs, elements of an image, a row or two tensors: kProduct,
/// kNormalize, kWindow. These compute on float32; some have a form for codes of 8 bits.
bool computes_sums(const Operator& op);
/// Whether an operator multiplies its input with a matrix of weights (input 1), one row per output,
/// and adds a bias (input 2): LayerKind::kAffine.
bool is_layer(const Operator& op);
/// Whether an operator looks up rows of a table of weights (input 0), an embedding:
/// LayerKind::kTable.
bool is_table(const Operator& op);
/// Whether an operator multiplies its own states: LayerKind::kRecurrent.
bool is_recurrent(const Operator& op);
/// The number of groups that a layer divides its channels into; 1 where it has no such attribute.
Dim num_groups(const Operator& op);
/// The inputs that hold parameters of a network where they are constant: weights, biases, scales,
/// factors, and the table of a lookup.
std::vector<std::size_t> parameter_inputs(const Operator& op);

/// The activation applied to the result of an operator's own work; null where there is none. (A
/// Unary is its activation, and that of an Encode comes before its work.)
const Activation* fused_activation(const Operator& op);
Activation* fused_activation(Operator& op);

/// The encoding that an operator applies to activations: to the output of an Encode, to the states
/// of a Recurrent (there possibly null). Null for any other operator.
const std::shared_ptr<const numerics::MatrixEncoding>* activation_encoding(const Operator& op);
std::shared_ptr<const numerics::MatrixEncoding>* activation_encoding(Operator& op);

/// The zero points of a product that takes integers; null for any other operator.
ZeroPoints* zero_points(Operator& op);

/// The form of a recurrence of ops/recurrence.h; null for any other operator.
RecurrenceForm* recurrence_form(Operator& op);
const RecurrenceForm* recurrence_form(const Operator& op);

/// The arithmetic of a layer: FullyConnected, Conv, ConvTranspose, Recurrent, ExpertProduct. Null
/// for any other operator, which has no choice.
Arithmetic* arithmetic(Operator& op);
const Arithmetic* arithmetic(const Operator& op);

}  // namespace halftone::ir
