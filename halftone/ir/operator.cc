// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/operator.h"

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "halftone/ir/extent.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/symbolic_batch.h"

namespace halftone::ir {
namespace {

/// Bounds every extent so that the shape rules cannot overflow.
void check_extents(const ValueType& type) { check_bounds(type.shape); }

template <typename Op>
void check_inputs(const Op& /*op*/, InputTypes inputs) {
  require(inputs.size() >= Op::kMinInputs && inputs.size() <= Op::kMaxInputs,
          "expected " + std::to_string(Op::kMinInputs) + " to " + std::to_string(Op::kMaxInputs) +
              " inputs, found " + std::to_string(inputs.size()));
  for (std::size_t i = 0; i < Op::kMinInputs; ++i) {
    require(inputs[i] != nullptr, "input " + std::to_string(i) + " is absent");
  }
  for (const ValueType* input : inputs) {
    if (input != nullptr) check_extents(*input);
  }
}

/// The name of an operator that is not named by its function.
template <typename Op>
void add_name(std::vector<std::string_view>& names) {
  constexpr bool kByFunction =
      std::is_same_v<Op, Unary> || std::is_same_v<Op, Binary> || std::is_same_v<Op, Pool>;
  if constexpr (!kByFunction) names.push_back(Op::kName);
}

template <std::size_t... kIndices>
void add_names(std::index_sequence<kIndices...> /*indices*/, std::vector<std::string_view>& names) {
  (add_name<std::variant_alternative_t<kIndices, Operator>>(names), ...);
}

}  // namespace

std::string_view name_of(const Operator& op) {
  if (const auto* unary = std::get_if<Unary>(&op)) return to_string(unary->activation.kind);
  if (const auto* binary = std::get_if<Binary>(&op)) return to_string(binary->kind);
  if (const auto* pool = std::get_if<Pool>(&op)) return to_string(pool->kind);
  return std::visit([](const auto& held) { return std::string_view(held.kName); }, op);
}

std::string attributes_of(const Operator& op) {
  std::string text = std::visit([](const auto& held) { return attributes(held); }, op);
  const Arithmetic* stored = arithmetic(op);
  if (stored == nullptr || *stored == Arithmetic::kAuto) return text;
  return text.append(text.empty() ? "" : " ").append("arithmetic=").append(to_string(*stored));
}

std::size_t weights_input(const Operator& op) { return std::holds_alternative<Gather>(op) ? 0 : 1; }

Operator with_batch(Operator op, std::size_t batch) {
  if (auto* reshape = std::get_if<Reshape>(&op)) reshape->shape = reshape->shape.with_batch(batch);
  if (auto* repeat = std::get_if<BroadcastTo>(&op)) repeat->shape = repeat->shape.with_batch(batch);
  if (auto* loop = std::get_if<Loop>(&op)) {
    auto body = std::make_shared<Graph>(*loop->body);
    fill_in_batch(*body, batch);
    loop->body = std::move(body);
    if (loop->trips) loop->trips = Shape{*loop->trips}.with_batch(batch)[0];
  }
  if (auto* result = std::get_if<LoopResult>(&op)) {
    result->shape = result->shape.with_batch(batch);
    result->offset = Shape{result->offset}.with_batch(batch)[0];
  }
  return op;
}

ValueType infer_output(const Operator& op, InputTypes inputs) {
  return std::visit(
      [&](const auto& held) {
        check_inputs(held, inputs);
        ValueType output = infer_types(held, inputs);
        check_extents(output);
        return output;
      },
      op);
}

Tensor evaluate_operator(const Operator& op, InputTensors inputs) {
  std::vector<ValueType> types;
  types.reserve(inputs.size());
  for (const Tensor* input : inputs) types.push_back(input ? input->type() : ValueType{});
  std::vector<const ValueType*> pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pointers.push_back(inputs[i] != nullptr ? &types[i] : nullptr);
  }
  infer_output(op, pointers);
  return std::visit([&](const auto& held) { return evaluate(held, inputs); }, op);
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names = {to_string(PoolKind::kMax), to_string(PoolKind::kAverage)};
  for (std::size_t i = 0; i < kNumActivationKinds; ++i) {
    names.push_back(to_string(static_cast<ActivationKind>(i)));
  }
  for (std::size_t i = 0; i < kNumBinaryKinds; ++i) {
    names.push_back(to_string(static_cast<BinaryKind>(i)));
  }
  add_names(std::make_index_sequence<std::variant_size_v<Operator>>(), names);
  return names;
}

}  // namespace halftone::ir
