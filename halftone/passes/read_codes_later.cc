// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/passes/codes.h"
#include "halftone/passes/integer_forms.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

using ir::ValueId;

/// Whether no window lies in the padding, where no code says what it gives.
bool meets_the_image(const ir::Pool& op) {
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    if (op.window.dilations[i] != 1 || op.window.pads_before[i] >= op.kernel[i] ||
        op.window.pads_after[i] >= op.kernel[i]) {
      return false;
    }
  }
  return !op.round_up;
}

/// How many of its inputs an operator moves or compares; 0 for any other operator.
struct MovedInputs {
  std::size_t all;

  std::size_t operator()(const ir::Reshape& /*op*/) const { return 1; }
  std::size_t operator()(const ir::Transpose& /*op*/) const { return 1; }
  std::size_t operator()(const ir::Slice& /*op*/) const { return 1; }
  std::size_t operator()(const ir::Tile& /*op*/) const { return 1; }
  std::size_t operator()(const ir::BroadcastTo& /*op*/) const { return 1; }
  std::size_t operator()(const ir::Gather& /*op*/) const { return 1; }
  std::size_t operator()(const ir::Pad& /*op*/) const { return 1; }
  std::size_t operator()(const ir::Concat& /*op*/) const { return all; }
  std::size_t operator()(const ir::Resize& op) const {
    const bool copies =
        op.mode == ir::Interpolation::kNearest && op.coordinates != ir::Coordinates::kCropAndResize;
    return copies ? 1 : 0;
  }
  std::size_t operator()(const ir::Pool& op) const {
    return op.kind == ir::PoolKind::kMax && meets_the_image(op) ? 1 : 0;
  }
  std::size_t operator()(const ir::Reduce& op) const {
    return op.kind == ir::ReduceKind::kMax || op.kind == ir::ReduceKind::kMin ? 1 : 0;
  }
  std::size_t operator()(const ir::Binary& op) const {
    const bool compares = op.kind == ir::BinaryKind::kMax || op.kind == ir::BinaryKind::kMin;
    return compares && op.activation == ir::Activation{} ? 2 : 0;
  }
  template <typename Op>
  std::size_t operator()(const Op& /*op*/) const {
    return 0;
  }
};

/// Whether an operator reduces over elements that are not there: of those no code is the largest.
bool reduces_nothing(const ir::Operator& op, const ir::Shape& shape) {
  const auto* reduce = std::get_if<ir::Reduce>(&op);
  return reduce != nullptr &&
         std::ranges::any_of(reduce->axes, [&shape](std::size_t axis) { return shape[axis] == 0; });
}

/// The code of a number, of any there are.
std::optional<std::int32_t> code_of(float number, const Codes& codes) {
  const float code =
      std::nearbyint(number / codes.scale()) + static_cast<float>(codes.zero_point());
  const auto [low, high] = ir::code_range(codes.element);
  if (!(code >= static_cast<float>(low) && code <= static_cast<float>(high))) return std::nullopt;
  const auto q = static_cast<std::int32_t>(code);
  const float back = codes.scale() * static_cast<float>(q - codes.zero_point());
  return back == number ? std::optional(q) : std::nullopt;
}

/// The code that a Pad puts around codes; none if there is none for its number.
std::optional<ValueId> padding_of(ir::Graph& graph, const ir::Node& node, const Codes& x) {
  const bool given = node.inputs.size() > 1 && node.inputs[1] != ir::kAbsent;
  if (given) {
    const auto codes = codes_of(graph, node.inputs[1]);
    if (codes && codes->same_numbers(x)) return codes->value;
  }
  const ir::Tensor* number = given ? float_constant(graph, node.inputs[1]) : nullptr;
  if (given && number == nullptr) return std::nullopt;
  const auto code = code_of(given ? number->as<float>()[0] : 0, x);
  if (!code) return std::nullopt;
  const ir::Tensor constant = ir::Tensor::from<std::int32_t>({}, std::span(&*code, 1));
  return graph.add_constant(node.name + "/padding", constant.cast(x.element));
}

}  // namespace

bool read_codes_later(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  const std::size_t count = std::visit(MovedInputs{node.inputs.size()}, node.op);
  if (count == 0) return false;
  const auto x = codes_of(graph, node.inputs[0]);
  if (!x || reduces_nothing(node.op, graph.value(x->value).type.shape)) return false;
  std::vector<ValueId> inputs = node.inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto codes = codes_of(graph, node.inputs[i]);
    if (!codes || !codes->same_numbers(*x)) return false;
    inputs[i] = codes->value;
  }
  const auto* pad = std::get_if<ir::Pad>(&node.op);
  if (pad != nullptr && pad->mode == ir::PadMode::kConstant) {
    const auto padding = padding_of(graph, node, *x);
    if (!padding) return false;
    inputs = {x->value, *padding};
  }
  const ValueId moved = graph.add_node(node.name + "/codes", node.op, std::move(inputs));
  graph.replace_node(id, ir::DequantizeLinear{x->parameters}, {moved});
  return true;
}

}  // namespace halftone::passes
