// SPDX-License-Identifier: Apache-2.0
#include "halftone/gradient/steps.h"

#include <algorithm>
#include <array>

#include "halftone/base/error.h"
#include "halftone/ir/strides.h"

namespace halftone::gradient {
namespace {

template <typename... Ops>
bool is_any_of(const ir::Operator& op) {
  return (std::holds_alternative<Ops>(op) || ...);
}

bool only_moves(const StepContext& context) {
  const ir::Operator& op = context.node.op;
  if (std::ranges::count(context.node.inputs, ir::kAbsent) > 0) return false;
  return is_any_of<ir::Reshape, ir::Transpose, ir::Slice, ir::Concat, ir::BroadcastTo, ir::Tile,
                   ir::Pad, ir::Gather, ir::GatherElements, ir::GatherND, ir::ReverseSequence>(op);
}

/// An input of a node in the type that its operator takes.
ir::Tensor typed_input(const StepContext& context, std::size_t i) {
  const ir::Value& value = context.graph.value(context.node.inputs[i]);
  const ir::ElementType element = value.type.encoding.element;
  if (element == ir::ElementType::kFloat32) {
    return ir::Tensor::from<float>(value.type.shape, context.inputs[i]);
  }
  // Integers may be too large to be exact in float32.
  if (value.constant != nullptr) return std::get<ir::Tensor>(*value.constant).clone();
  return ir::Tensor::from<float>(value.type.shape, context.inputs[i]).cast(element);
}

}  // namespace

void fail_gradient(const std::string& what) {
  fail(ErrorKind::kUnsupported, what + " has no gradient");
}

std::vector<std::size_t> broadcast_indices(const ir::Shape& operand, const ir::Shape& result) {
  std::vector<std::size_t> indices(result.element_count());
  ir::StridedWalk<1> walk(result, {ir::broadcast_strides(operand, result)});
  for (std::size_t& index : indices) {
    index = walk.offset(0);
    walk.next();
  }
  return indices;
}

Step definition_step(const StepContext& context) {
  return {[context] {
            std::vector<ir::Tensor> inputs;
            std::vector<const ir::Tensor*> pointers(context.inputs.size(), nullptr);
            inputs.reserve(context.inputs.size());
            for (std::size_t i = 0; i < context.inputs.size(); ++i) {
              if (context.node.inputs[i] == ir::kAbsent) continue;
              inputs.push_back(typed_input(context, i));
              pointers[i] = &inputs.back();
            }
            const ir::Tensor result = ir::evaluate_operator(context.node.op, pointers);
            std::ranges::copy(result.cast(ir::ElementType::kFloat32).as<float>(),
                              context.output.begin());
          },
          [] {}};
}

Step make_step(const StepContext& context) {
  const ir::Operator& op = context.node.op;
  const ir::ElementType element = context.graph.value(context.node.output).type.encoding.element;
  if (element != ir::ElementType::kFloat32) return definition_step(context);
  // Products have fast code, which is used even if no gradient is wanted.
  if (const auto* layer = std::get_if<ir::FullyConnected>(&op)) {
    return layer_step(context, layer->activation);
  }
  if (const auto* conv = std::get_if<ir::Conv>(&op)) return layer_step(context, conv->activation);
  if (const auto* conv = std::get_if<ir::ConvTranspose>(&op)) {
    return layer_step(context, conv->activation);
  }
  if (const auto* matmul = std::get_if<ir::MatMul>(&op)) return matmul_step(context, *matmul);
  if (const auto* recurrent = std::get_if<ir::Recurrent>(&op)) {
    return recurrent_step(context, *recurrent);
  }
  if (context.levels != nullptr) return encode_step(context);
  if (context.output_gradient.empty()) return definition_step(context);
  if (const auto* unary = std::get_if<ir::Unary>(&op)) {
    return unary_step(context, unary->activation);
  }
  if (const auto* binary = std::get_if<ir::Binary>(&op)) return binary_step(context, *binary);
  if (const auto* pool = std::get_if<ir::Pool>(&op)) return pool_step(context, *pool);
  if (const auto* reduce = std::get_if<ir::Reduce>(&op)) return reduce_step(context, *reduce);
  if (const auto* softmax = std::get_if<ir::Softmax>(&op)) return softmax_step(context, *softmax);
  if (const auto* normalize = std::get_if<ir::Normalize>(&op)) {
    return normalize_step(context, *normalize);
  }
  if (std::holds_alternative<ir::Where>(op)) return where_step(context);
  if (only_moves(context)) return move_step(context);
  fail_gradient(describe(context.node));
}

}  // namespace halftone::gradient
