// SPDX-License-Identifier: Apache-2.0
// Losses, decomposed into other operators.
#include <optional>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ReduceKind;
using ir::ValueId;

/// Targets, with ignored ones replaced.
struct Targets {
  ValueId safe = ir::kAbsent;    ///< the targets; ignored ones are 0
  ValueId counts = ir::kAbsent;  ///< bool, false for ignored targets; absent if none is ignored
};

Targets targets_of(NodeBuilder& node, ValueId target) {
  if (!node.has_attribute("ignore_index")) return {target, ir::kAbsent};
  const ir::ElementType element = node.type(target).encoding.element;
  const auto number = static_cast<double>(node.int_attribute("ignore_index", 0));
  const ValueId ignored =
      emit_binary(node, BinaryKind::kEqual, target, node.add_scalar(number, element));
  return {emit_where(node, ignored, node.add_scalar(0.0, element), target),
          emit_unary(node, ir::ActivationKind::kNot, ignored)};
}

/// The weight of each target; absent if all weights are 1.
ValueId weights_of(NodeBuilder& node, const Targets& targets, std::size_t weight_input) {
  ValueId weights = ir::kAbsent;
  if (node.has_input(weight_input)) {
    weights = node.emit(ir::Gather{0}, {node.input(weight_input), targets.safe});
  }
  if (targets.counts == ir::kAbsent) return weights;
  if (weights == ir::kAbsent) return emit_cast(node, ir::ElementType::kFloat32, targets.counts);
  return emit_where(node, targets.counts, weights, node.add_scalar(0.0F));
}

/// -weight log_probability[target] of each target, reduced.
ValueId negative_log_likelihood(NodeBuilder& node, ValueId log_probabilities) {
  const std::string reduction = node.choice_attribute("reduction", "mean", {"none", "mean", "sum"});
  const Targets targets = targets_of(node, node.input(1));
  const ValueId weights = weights_of(node, targets, 2);
  const ValueId indices = unsqueezed(node, targets.safe, 1);
  const ValueId found = node.emit(ir::GatherElements{1}, {log_probabilities, indices});
  ValueId loss = emit_unary(node, ir::ActivationKind::kNeg, squeezed(node, found, 1));
  if (weights != ir::kAbsent) loss = emit_binary(node, BinaryKind::kMul, loss, weights);
  if (reduction == "none") return loss;
  const auto axes = all_axes(node.type(loss).shape.rank());
  if (reduction == "mean" && weights == ir::kAbsent) {
    return emit_reduce(node, ReduceKind::kMean, axes, false, loss);
  }
  const ValueId sum = emit_reduce(node, ReduceKind::kSum, axes, false, loss);
  if (reduction != "mean") return sum;
  return emit_binary(node, BinaryKind::kDiv, sum,
                     emit_reduce(node, ReduceKind::kSum, axes, false, weights));
}

void require_classes(NodeBuilder& node) {
  const ir::Shape& x = node.input_type(0).shape;
  const ir::Shape& target = node.input_type(1).shape;
  if (x.rank() < 2 || target.rank() + 1 != x.rank()) {
    fail(ErrorKind::kShape, "targets " + target.to_string() + " do not fit " + x.to_string());
  }
}

void build_negative_log_likelihood_loss(NodeBuilder& node) {
  require_classes(node);
  node.set_output(0, negative_log_likelihood(node, node.input(0)));
}

void build_softmax_cross_entropy_loss(NodeBuilder& node) {
  require_classes(node);
  const ValueId log_probabilities = node.emit(ir::Softmax{1, 1, true}, {node.input(0)});
  node.set_output(0, negative_log_likelihood(node, log_probabilities));
  node.set_output(1, log_probabilities);
}

constexpr ReaderEntry kLossReaders[] = {
    {"", "NegativeLogLikelihoodLoss", build_negative_log_likelihood_loss},
    {"", "SoftmaxCrossEntropyLoss", build_softmax_cross_entropy_loss},
};

}  // namespace

std::span<const ReaderEntry> loss_readers() { return kLossReaders; }

}  // namespace halftone::formats::onnx
