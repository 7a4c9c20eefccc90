// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "halftone/ir/ops/traits.h"
#include "halftone/ir/work.h"

namespace halftone::ir {
namespace {

/// Functions of straight pieces, which need no series: all others count as functions.
constexpr std::array kPieces = {
    ActivationKind::kIdentity,  ActivationKind::kRelu,        ActivationKind::kReluN1To1,
    ActivationKind::kRelu6,     ActivationKind::kClip,        ActivationKind::kLeakyRelu,
    ActivationKind::kHardSwish, ActivationKind::kHardSigmoid, ActivationKind::kThresholded,
    ActivationKind::kSignBit,   ActivationKind::kSign,        ActivationKind::kAbs,
    ActivationKind::kNeg,       ActivationKind::kSquare,      ActivationKind::kFloor,
    ActivationKind::kCeil,      ActivationKind::kRound,       ActivationKind::kNot,
    ActivationKind::kIsNan,     ActivationKind::kIsInf,
};

/// The numbers of elements of a node's first input and of its output.
struct Counts {
  double inputs = 0;
  double outputs = 0;
};

/// The work of a function on `elements` numbers.
ElementWork of_function(const Activation& activation, double elements) {
  if (activation.kind == ActivationKind::kIdentity) return {};
  const bool is_straight = std::ranges::find(kPieces, activation.kind) != kPieces.end();
  return {elements, is_straight ? 0 : elements};
}

ElementWork elements_of(const Unary& op, const Counts& n) {
  return of_function(op.activation, n.outputs);
}

ElementWork elements_of(const Binary& op, const Counts& n) {
  const bool divides = op.kind == BinaryKind::kDiv || op.kind == BinaryKind::kPow ||
                       op.kind == BinaryKind::kMod || op.kind == BinaryKind::kFmod;
  return {n.outputs, divides ? n.outputs : 0};
}

ElementWork elements_of(const Pool& op, const Counts& n) {
  double taps = 1;
  for (const Dim extent : op.kernel) taps *= static_cast<double>(extent);
  return {taps * n.outputs, 0};
}

ElementWork elements_of(const Reduce& op, const Counts& n) {
  switch (op.kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMax:
    case ReduceKind::kMin:
    case ReduceKind::kProd:
    case ReduceKind::kL1:
    case ReduceKind::kSumSquare:
      return {n.inputs, 0};
    case ReduceKind::kLogSumExp:
      return {2 * n.inputs, n.inputs + n.outputs};
    case ReduceKind::kMean:
    case ReduceKind::kL2:
    case ReduceKind::kLogSum:
      break;
  }
  return {n.inputs, n.outputs};
}

ElementWork elements_of(const Softmax& /*op*/, const Counts& n) { return {4 * n.inputs, n.inputs}; }

ElementWork elements_of(const Encode& op, const Counts& n) {
  ElementWork work = of_function(op.activation, n.outputs);
  work.operations += op.encoding->bits * n.outputs;
  return work;
}

ElementWork elements_of(const LocalNormalize& op, const Counts& n) {
  const auto window = static_cast<double>(op.before + op.after + 1);
  return {2 * window * n.outputs, n.outputs};
}

ElementWork elements_of(const Resize& op, const Counts& n) {
  const double taps = op.mode == Interpolation::kNearest  ? 0
                      : op.mode == Interpolation::kLinear ? 2
                                                          : 4;
  return {2 * taps * n.outputs, 0};
}

ElementWork elements_of(const GridSample& op, const Counts& n) {
  const double taps = op.mode == Interpolation::kNearest  ? 1
                      : op.mode == Interpolation::kLinear ? 4
                                                          : 16;
  return {2 * taps * n.outputs, 0};
}

ElementWork elements_of(const Recurrent& /*op*/, const Counts& n) {
  return {5 * n.inputs, n.inputs};
}

/// Operators whose work follows from how their outputs depend on inputs.
template <typename Op>
ElementWork elements_of(const Op& op, const Counts& n) {
  switch (traits_of(Operator(op)).pattern) {
    case Pattern::kElementwise:
    case Pattern::kConvert:
      return {n.outputs, 0};
    case Pattern::kReduce:
    case Pattern::kWindow:
      return {n.inputs, 0};
    case Pattern::kNormalize:
      return {6 * n.inputs, 0};
    case Pattern::kMove:
    case Pattern::kProduct:
      break;
  }
  return {};
}

double elements(const Graph& graph, ValueId id, std::size_t batch) {
  return static_cast<double>(graph.value(id).type.shape.with_batch(batch).element_count());
}

/// The rows of a Normalize, each with a square root.
double normalized_rows(const Graph& graph, const Node& node, double inputs) {
  const auto* op = std::get_if<Normalize>(&node.op);
  if (op == nullptr) return 0;
  double row = 1;
  for (const std::size_t axis : op->axes) {
    row *= static_cast<double>(graph.value(node.inputs[0]).type.shape[axis]);
  }
  return row > 0 ? inputs / row : 0;
}

}  // namespace

ElementWork element_work(const Graph& graph, const Node& node, std::size_t batch) {
  const Counts n{elements(graph, node.inputs[0], batch), elements(graph, node.output, batch)};
  ElementWork work = std::visit([&](const auto& op) { return elements_of(op, n); }, node.op);
  work.functions += normalized_rows(graph, node, n.inputs);
  if (const Activation* fused = fused_activation(node.op)) work += of_function(*fused, n.outputs);
  // A layer's bias and residual; the operands of other operators are in their own work.
  if (is_layer(node.op)) {
    for (std::size_t i = 2; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kAbsent) work.operations += n.outputs;
    }
  }
  return work;
}

}  // namespace halftone::ir
