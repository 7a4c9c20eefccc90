// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/ir/ops/traits.h"
#include "halftone/passes/rewrite.h"
#include "halftone/passes/use_integers.h"

namespace halftone::passes {
namespace {

using ir::ValueId;

/// Whether every window overlaps the image: no code represents the maximum of padding alone.
bool meets_the_image(const ir::Pool& op) {
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    if (op.window.dilations[i] != 1 || op.window.pads_before[i] >= op.kernel[i] ||
        op.window.pads_after[i] >= op.kernel[i]) {
      return false;
    }
  }
  return !op.round_up;
}

/// Whether an operator, applied to codes, returns the codes of its result: it selects elements, at
/// least one per output.
bool selects_codes(const ir::Graph& graph, const ir::Node& node) {
  if (!ir::traits_of(node.op).selects) return false;
  if (const auto* pool = std::get_if<ir::Pool>(&node.op)) return meets_the_image(*pool);
  const auto* reduce = std::get_if<ir::Reduce>(&node.op);
  const ir::Shape& shape = graph.value(node.inputs[0]).type.shape;
  return reduce == nullptr || std::ranges::none_of(reduce->axes, [&shape](std::size_t axis) {
           return shape[axis] == 0;
         });
}

/// Whether a node pads its input with a constant.
bool pads_with_number(const ir::Node& node) {
  const auto* pad = std::get_if<ir::Pad>(&node.op);
  return pad != nullptr && pad->mode == ir::PadMode::kConstant;
}

/// The inputs that must be codes with equal meaning; the padding value of a Pad is exempt.
std::vector<std::size_t> data_inputs(const ir::Node& node) {
  if (pads_with_number(node)) return {0};
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_data = ir::input_role(node.op, i) == ir::InputRole::kData;
    if (is_data && node.inputs[i] != ir::kAbsent) found.push_back(i);
  }
  return found;
}

/// The code of a value; none if no code represents it exactly.
std::optional<std::int32_t> code_of(float number, const Codes& codes) {
  const float code =
      std::nearbyint(number / codes.scale()) + static_cast<float>(codes.zero_point());
  const auto [low, high] = ir::code_range(codes.element);
  if (!(code >= static_cast<float>(low) && code <= static_cast<float>(high))) return std::nullopt;
  const auto q = static_cast<std::int32_t>(code);
  const float back = codes.scale() * static_cast<float>(q - codes.zero_point());
  return back == number ? std::optional(q) : std::nullopt;
}

/// The code that pads codes; none if no code represents the padding value.
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
  if (!selects_codes(graph, node)) return false;
  std::optional<Codes> x;
  std::vector<ValueId> inputs = node.inputs;
  for (const std::size_t i : data_inputs(node)) {
    const auto codes = codes_of(graph, node.inputs[i]);
    if (!codes || (x && !codes->same_numbers(*x))) return false;
    if (!x) x = codes;
    inputs[i] = codes->value;
  }
  if (!x) return false;
  if (pads_with_number(node)) {
    const auto padding = padding_of(graph, node, *x);
    if (!padding) return false;
    inputs = {x->value, *padding};
  }
  const ValueId moved = graph.add_node(node.name + "/codes", node.op, std::move(inputs));
  graph.replace_node(id, ir::DequantizeLinear{x->parameters}, {moved});
  return true;
}

}  // namespace halftone::passes
