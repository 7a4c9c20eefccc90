// SPDX-License-Identifier: Apache-2.0
#include "halftone/gradient/steps.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/strides.h"

namespace halftone::gradient {
namespace {

/// Null where the table of no family has the operator.
StepMaker maker_of(const ir::Operator& op) {
  static const ir::OperatorTable<StepMaker> makers = {
      elementwise_steps(), expert_steps(),    layer_steps(),  matmul_steps(),   normalize_steps(),
      pool_steps(),        recurrent_steps(), reduce_steps(), rounding_steps(), sequence_steps()};
  return makers[op];
}

}  // namespace

void fail_gradient(const std::string& what) {
  fail(ErrorKind::kUnsupported, what + " has no gradient");
}

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

std::vector<std::size_t> broadcast_indices(const ir::Shape& operand, const ir::Shape& result) {
  std::vector<std::size_t> indices(result.element_count());
  ir::StridedWalk<1> walk(result, {ir::broadcast_strides(operand, result)});
  for (std::size_t& index : indices) {
    index = walk.offset(0);
    walk.next();
  }
  return indices;
}

TapeStep definition_step(const StepContext& context) {
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

bool has_step(const ir::Operator& op) {
  return maker_of(op) != nullptr || ir::copies_elements(op) ||
         ir::activation_encoding(op) != nullptr;
}

TapeStep make_step(const StepContext& context) {
  const ir::Operator& op = context.node.op;
  const ir::ElementType element = context.graph.value(context.node.output).type.encoding.element;
  if (element != ir::ElementType::kFloat32) return definition_step(context);
  // Products have fast code, which is used even if no gradient is wanted.
  if (ir::traits_of(op).pattern != ir::Pattern::kProduct) {
    if (context.levels != nullptr) return encode_step(context);
    if (context.output_gradient.empty()) return definition_step(context);
  }
  if (const StepMaker make = maker_of(op)) return make(context);
  const bool is_complete = std::ranges::count(context.node.inputs, ir::kAbsent) == 0;
  if (ir::copies_elements(op) && is_complete) return move_step(context);
  fail_gradient(describe(context.node));
}

}  // namespace halftone::gradient
