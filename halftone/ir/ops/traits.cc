// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/traits.h"

#include <concepts>
#include <type_traits>

namespace halftone::ir {
namespace {

constexpr InputRoles kLayerInputs = {InputRole::kData, InputRole::kWeights, InputRole::kBias,
                                     InputRole::kData};
constexpr InputRoles kRecurrentInputs = {
    InputRole::kData,  InputRole::kWeights, InputRole::kBias, InputRole::kState,
    InputRole::kState, InputRole::kIndices, InputRole::kScale};
constexpr InputRoles kIndexedInputs = {InputRole::kData, InputRole::kIndices};

// The table: one function per operator. There is no default, so that an operator without a row does
// not compile.

OperatorTraits traits(const FullyConnected& /*op*/) {
  return {.pattern = Pattern::kProduct, .layer = LayerKind::kAffine, .inputs = kLayerInputs};
}
OperatorTraits traits(const MatMul& /*op*/) {
  return {.pattern = Pattern::kProduct, .inputs = {InputRole::kFactor, InputRole::kFactor}};
}
OperatorTraits traits(const Conv& /*op*/) {
  return {.pattern = Pattern::kProduct, .layer = LayerKind::kAffine, .inputs = kLayerInputs};
}
OperatorTraits traits(const ConvTranspose& /*op*/) {
  return {.pattern = Pattern::kProduct, .layer = LayerKind::kAffine, .inputs = kLayerInputs};
}
OperatorTraits traits(const Recurrent& /*op*/) {
  return {.pattern = Pattern::kProduct, .layer = LayerKind::kRecurrent, .inputs = kRecurrentInputs};
}
OperatorTraits traits(const Pool& op) {
  return {.pattern = Pattern::kWindow, .selects = op.kind == PoolKind::kMax};
}
OperatorTraits traits(const Unary& op) {
  return {.pattern = Pattern::kElementwise,
          .differentiable = is_differentiable(op.activation),
          .axes = AxisMap::kAligned};
}
OperatorTraits traits(const Binary& op) {
  return {.pattern = Pattern::kElementwise,
          .selects = traits_of(op.kind).selects && op.activation == Activation{},
          .differentiable = is_differentiable(op.kind),
          .axes = AxisMap::kAligned};
}
OperatorTraits traits(const Where& /*op*/) {
  return {.pattern = Pattern::kMove,
          .selects = true,
          .inputs = {InputRole::kCondition},
          .copies = true};
}
OperatorTraits traits(const Cast& op) {
  return {.pattern = Pattern::kElementwise,
          .differentiable = op.element == ElementType::kFloat32,
          .axes = AxisMap::kAligned};
}
OperatorTraits traits(const Reshape& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .copies = true, .permutes = true};
}
OperatorTraits traits(const Transpose& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .copies = true, .permutes = true};
}
OperatorTraits traits(const Concat& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .axes = AxisMap::kAligned, .copies = true};
}
OperatorTraits traits(const Slice& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .axes = AxisMap::kAligned, .copies = true};
}
OperatorTraits traits(const Softmax& /*op*/) {
  return {.pattern = Pattern::kNormalize, .axes = AxisMap::kAligned};
}
OperatorTraits traits(const Encode& /*op*/) {
  return {.pattern = Pattern::kConvert, .differentiable = false};
}
OperatorTraits traits(const FakeQuantize& /*op*/) {
  return {.pattern = Pattern::kNormalize, .axes = AxisMap::kAligned};
}
OperatorTraits traits(const QuantizeLinear& /*op*/) {
  return {.pattern = Pattern::kConvert, .differentiable = false, .axes = AxisMap::kAligned};
}
OperatorTraits traits(const DequantizeLinear& /*op*/) {
  return {.pattern = Pattern::kConvert, .differentiable = false, .axes = AxisMap::kAligned};
}
OperatorTraits traits(const Requantize& /*op*/) {
  return {.pattern = Pattern::kConvert, .differentiable = false};
}
OperatorTraits traits(const Lookup& /*op*/) {
  return {.pattern = Pattern::kElementwise, .differentiable = false, .axes = AxisMap::kAligned};
}
OperatorTraits traits(const Reduce& op) {
  return {.pattern = Pattern::kReduce,
          .selects = op.kind == ReduceKind::kMax || op.kind == ReduceKind::kMin,
          .axes = op.keep_dims ? AxisMap::kAligned : AxisMap::kReduced};
}
OperatorTraits traits(const ArgReduce& op) {
  return {.pattern = Pattern::kReduce,
          .differentiable = false,
          .axes = op.keep_dims ? AxisMap::kAligned : AxisMap::kReduced};
}
OperatorTraits traits(const CumSum& /*op*/) {
  return {.pattern = Pattern::kReduce, .axes = AxisMap::kAligned};
}
OperatorTraits traits(const Gather& op) {
  return {.pattern = Pattern::kMove,
          .layer = op.axis == 0 ? LayerKind::kTable : LayerKind::kNone,
          .selects = true,
          .inputs = kIndexedInputs,
          .copies = true};
}
OperatorTraits traits(const GatherElements& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .inputs = kIndexedInputs, .copies = true};
}
OperatorTraits traits(const GatherND& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .inputs = kIndexedInputs, .copies = true};
}
/// Whether elements that meet give a new number.
bool combines(Scatter reduction) {
  return reduction == Scatter::kAdd || reduction == Scatter::kMul;
}
OperatorTraits traits(const ScatterElements& op) {
  return {.pattern = Pattern::kMove,
          .selects = !combines(op.reduction),
          .inputs = kIndexedInputs,
          .copies = op.reduction == Scatter::kReplace};
}
OperatorTraits traits(const ScatterND& op) {
  return {.pattern = Pattern::kMove,
          .selects = !combines(op.reduction),
          .inputs = kIndexedInputs,
          .copies = op.reduction == Scatter::kReplace};
}
OperatorTraits traits(const OneHot& /*op*/) {
  return {
      .pattern = Pattern::kMove, .selects = true, .inputs = {InputRole::kIndices}, .copies = true};
}
OperatorTraits traits(const TopK& /*op*/) {
  return {.pattern = Pattern::kReduce, .differentiable = false, .axes = AxisMap::kAligned};
}
OperatorTraits traits(const Pad& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .axes = AxisMap::kAligned, .copies = true};
}
OperatorTraits traits(const BroadcastTo& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .copies = true};
}
OperatorTraits traits(const Tile& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .axes = AxisMap::kAligned, .copies = true};
}
OperatorTraits traits(const ReverseSequence& /*op*/) {
  return {.pattern = Pattern::kMove, .selects = true, .inputs = kIndexedInputs, .copies = true};
}
OperatorTraits traits(const Resize& op) {
  const bool copies = op.mode == Interpolation::kNearest;
  const bool extrapolates = op.coordinates == Coordinates::kCropAndResize;
  return {.pattern = copies ? Pattern::kMove : Pattern::kWindow,
          .selects = copies && !extrapolates,
          .axes = AxisMap::kAligned,
          .copies = copies && !extrapolates};
}
OperatorTraits traits(const GridSample& /*op*/) { return {.pattern = Pattern::kWindow}; }
OperatorTraits traits(const Normalize& /*op*/) {
  return {.pattern = Pattern::kNormalize, .axes = AxisMap::kAligned};
}
OperatorTraits traits(const LocalNormalize& /*op*/) {
  return {.pattern = Pattern::kNormalize, .axes = AxisMap::kAligned};
}
OperatorTraits traits(const AppendRows& /*op*/) {
  return {
      .pattern = Pattern::kMove,
      .inputs = {InputRole::kState, InputRole::kData, InputRole::kIndices, InputRole::kIndices}};
}
OperatorTraits traits(const Attention& /*op*/) {
  return {.pattern = Pattern::kProduct,
          .inputs = {InputRole::kData, InputRole::kData, InputRole::kData, InputRole::kIndices,
                     InputRole::kIndices, InputRole::kData}};
}
OperatorTraits traits(const Rotary& /*op*/) {
  return {.pattern = Pattern::kWindow, .inputs = {InputRole::kData, InputRole::kIndices}};
}
OperatorTraits traits(const ExpertProduct& /*op*/) {
  return {.pattern = Pattern::kProduct,
          .inputs = {InputRole::kData, InputRole::kWeights, InputRole::kIndices}};
}
/// That of recurrences, whose states come before what samples have.
OperatorTraits recurrence_traits(RecurrenceForm form) {
  OperatorTraits traits{.pattern = Pattern::kProduct};
  if (state_inputs(form) != 0) {
    traits.inputs = {InputRole::kState, InputRole::kIndices, InputRole::kIndices};
  }
  return traits;
}
OperatorTraits traits(const ShortConvolution& op) { return recurrence_traits(op.form); }
OperatorTraits traits(const SelectiveScan& op) { return recurrence_traits(op.form); }
OperatorTraits traits(const GatedDelta& op) { return recurrence_traits(op.form); }
/// Its inputs come in any order of roles.
OperatorTraits traits(const Loop& /*op*/) {
  return {.pattern = Pattern::kReduce, .differentiable = false};
}
OperatorTraits traits(const LoopResult& /*op*/) {
  return {.pattern = Pattern::kConvert, .differentiable = false};
}

/// That of operators that find indices.
constexpr OperatorTraits kFinds{.pattern = Pattern::kReduce, .differentiable = false};
OperatorTraits traits(const NonZero& /*op*/) { return kFinds; }
OperatorTraits traits(const NonMaxSuppression& /*op*/) { return kFinds; }
OperatorTraits traits(const Unique& /*op*/) { return kFinds; }
OperatorTraits traits(const MaxPoolIndex& /*op*/) { return kFinds; }
OperatorTraits traits(const RoiAlign& /*op*/) {
  return {.pattern = Pattern::kWindow,
          .inputs = {InputRole::kData, InputRole::kData, InputRole::kIndices}};
}
OperatorTraits traits(const MaxRoiPool& /*op*/) {
  return {.pattern = Pattern::kWindow,
          .inputs = {InputRole::kData, InputRole::kData, InputRole::kIndices}};
}
OperatorTraits traits(const Determinant& /*op*/) { return {.pattern = Pattern::kReduce}; }

/// @tparam A  Activation, const if the operator is
template <typename A, typename Op>
A* find_activation(Op& op) {
  return std::visit(
      [](auto& held) -> A* {
        using Held = std::remove_cvref_t<decltype(held)>;
        constexpr bool kIsFused = !std::same_as<Held, Unary> && !std::same_as<Held, Encode>;
        if constexpr (kIsFused && requires { held.activation; }) {
          return &held.activation;
        } else {
          return nullptr;
        }
      },
      op);
}

/// @tparam E  the pointer to the encoding, const if the operator is
template <typename E, typename Op>
E* find_encoding(Op& op) {
  return std::visit(
      [](auto& held) -> E* {
        if constexpr (requires { held.encoding; }) {
          return &held.encoding;
        } else if constexpr (requires { held.state_encoding; }) {
          return &held.state_encoding;
        } else {
          return nullptr;
        }
      },
      op);
}

/// @tparam F  const if the operator is
template <typename F, typename Op>
F* find_form(Op& op) {
  return std::visit(
      [](auto& held) -> F* {
        if constexpr (requires { held.form; }) {
          return &held.form;
        } else {
          return nullptr;
        }
      },
      op);
}

/// @tparam A  const if the operator is
template <typename A, typename Op>
A* find_arithmetic(Op& op) {
  return std::visit(
      [](auto& held) -> A* {
        if constexpr (requires { held.arithmetic; }) {
          return &held.arithmetic;
        } else {
          return nullptr;
        }
      },
      op);
}

}  // namespace

OperatorTraits traits_of(const Operator& op) {
  return std::visit([](const auto& held) { return traits(held); }, op);
}

InputRole input_role(const Operator& op, std::size_t input) {
  const auto roles = traits_of(op).inputs;
  return input < roles.size() ? roles[input] : InputRole::kData;
}

bool moves_elements(const Operator& op) { return traits_of(op).pattern == Pattern::kMove; }

bool copies_elements(const Operator& op) { return traits_of(op).copies; }

bool permutes_elements(const Operator& op) { return traits_of(op).permutes; }

bool works_elementwise(const Operator& op) {
  const Pattern pattern = traits_of(op).pattern;
  return pattern == Pattern::kElementwise || pattern == Pattern::kConvert;
}

bool computes_sums(const Operator& op) {
  const Pattern pattern = traits_of(op).pattern;
  return pattern == Pattern::kProduct || pattern == Pattern::kNormalize ||
         pattern == Pattern::kWindow;
}

bool is_layer(const Operator& op) { return traits_of(op).layer == LayerKind::kAffine; }

bool is_table(const Operator& op) { return traits_of(op).layer == LayerKind::kTable; }

bool is_recurrent(const Operator& op) { return traits_of(op).layer == LayerKind::kRecurrent; }

Dim num_groups(const Operator& op) {
  return std::visit(
      [](const auto& held) -> Dim {
        if constexpr (requires { held.groups; }) {
          return held.groups;
        } else {
          return 1;
        }
      },
      op);
}

std::vector<std::size_t> parameter_inputs(const Operator& op) {
  const OperatorTraits known = traits_of(op);
  if (known.layer == LayerKind::kTable) return {0};
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < known.inputs.size(); ++i) {
    const InputRole role = known.inputs[i];
    const bool is_parameter = role == InputRole::kWeights || role == InputRole::kBias ||
                              role == InputRole::kScale || role == InputRole::kFactor;
    if (is_parameter) found.push_back(i);
  }
  return found;
}

Activation* fused_activation(Operator& op) { return find_activation<Activation>(op); }

const Activation* fused_activation(const Operator& op) {
  return find_activation<const Activation>(op);
}

std::shared_ptr<const numerics::MatrixEncoding>* activation_encoding(Operator& op) {
  return find_encoding<std::shared_ptr<const numerics::MatrixEncoding>>(op);
}

const std::shared_ptr<const numerics::MatrixEncoding>* activation_encoding(const Operator& op) {
  return find_encoding<const std::shared_ptr<const numerics::MatrixEncoding>>(op);
}

RecurrenceForm* recurrence_form(Operator& op) { return find_form<RecurrenceForm>(op); }

const RecurrenceForm* recurrence_form(const Operator& op) {
  return find_form<const RecurrenceForm>(op);
}

Arithmetic* arithmetic(Operator& op) { return find_arithmetic<Arithmetic>(op); }

const Arithmetic* arithmetic(const Operator& op) { return find_arithmetic<const Arithmetic>(op); }

ZeroPoints* zero_points(Operator& op) {
  return std::visit(
      [](auto& held) -> ZeroPoints* {
        if constexpr (requires { held.zero_points; }) {
          return &held.zero_points;
        } else {
          return nullptr;
        }
      },
      op);
}

}  // namespace halftone::ir
