// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/decode/ranks/node_division.h"

#include <algorithm>
#include <utility>

namespace halftone::lm {
namespace {

std::size_t extent(const ir::Shape& shape, std::size_t axis_from_end) {
  return static_cast<std::size_t>(shape[shape.rank() - 1 - axis_from_end]);
}

/// All ids are below it.
std::size_t num_nodes(const std::vector<ir::NodeId>& order) {
  std::size_t count = 0;
  for (const ir::NodeId id : order) count = std::max(count, static_cast<std::size_t>(id) + 1);
  return count;
}

bool is_divisible(const ir::Constant* constant) {
  return constant != nullptr && !std::holds_alternative<ir::EncodedTensor>(*constant);
}

/// Keys, values and all that attention reads of them.
constexpr std::size_t kKeys = 1;
constexpr std::size_t kValues = 2;

}  // namespace

ValueDivisions::ValueDivisions(const ir::Graph& graph, const DivideOptions& options)
    : graph_(graph), options_(options), wishes_(graph.num_values()), values_(graph.num_values()) {
  const std::vector<ir::NodeId> order = graph.topological_order();
  nodes_.resize(num_nodes(order));
  for (auto id = order.rbegin(); id != order.rend(); ++id) add_wishes(graph.node(*id));
  for (const ir::NodeId id : order) {
    const ir::Node& node = graph.node(id);
    NodeDivision& found = nodes_[static_cast<std::size_t>(id)];
    found = divide(node);
    values_[static_cast<std::size_t>(node.output)] = found.output;
  }
}

void ValueDivisions::wish(ir::ValueId id, const std::vector<Range>& ranges, std::size_t units) {
  Wish& found = wishes_[static_cast<std::size_t>(id)];
  if (found.units == 0) found = {ranges, units};
}

void ValueDivisions::add_wishes(const ir::Node& node) {
  if (const auto* op = std::get_if<ir::Attention>(&node.op)) {
    if (!node.has_input(ir::Attention::kSlots)) return;
    const HeadRanges found = ranges_of_heads(*op, options_.ranks);
    wish(node.inputs[0], found.heads, op->heads);
    for (const std::size_t i : {kKeys, kValues}) {
      wish(node.inputs[i], found.kv_heads, op->kv_heads);
    }
    return;
  }
  const Wish& found = wish_for(node.output);
  if (found.units == 0) return;
  const auto pass = [&](std::size_t input) { wish(node.inputs[input], found.ranges, found.units); };
  if (std::holds_alternative<ir::AppendRows>(node.op)) return pass(1);
  if (std::holds_alternative<ir::Binary>(node.op) || std::holds_alternative<ir::Concat>(node.op)) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) pass(i);
    return;
  }
  const bool passes =
      std::holds_alternative<ir::Rotary>(node.op) || std::holds_alternative<ir::Unary>(node.op) ||
      std::holds_alternative<ir::Normalize>(node.op) ||
      std::holds_alternative<ir::Slice>(node.op) || std::holds_alternative<ir::Reshape>(node.op);
  if (passes) pass(0);
}

NodeDivision ValueDivisions::divide(const ir::Node& node) const {
  NodeDivision found = std::visit([&](const auto& op) { return divide(op, node); }, node.op);
  // Values without a last axis, or with fewer elements than ranks, stay whole.
  return found.output ? std::move(found) : whole(node);
}

template <typename Op>
NodeDivision ValueDivisions::divide(const Op& /*op*/, const ir::Node& node) const {
  return whole(node);
}

NodeDivision ValueDivisions::like_first(const ir::Node& node) const {
  NodeDivision found = whole(node);
  found.output = found.inputs[0] = of(node.inputs[0]);
  return found;
}

NodeDivision ValueDivisions::divide_product(const ir::Node& node) const {
  NodeDivision found = whole(node);
  const ir::ValueId weight = node.inputs[1];
  if (!is_divisible(graph_.constant(weight))) return found;
  const std::size_t rows = extent(shape(weight), 1);
  const Wish& wanted = wish_for(node.output);
  Division division;
  if (wanted.units != 0 && rows % wanted.units == 0) {
    division = scaled({0, wanted.ranges}, rows / wanted.units);
  } else if (rows >= std::max(options_.min_rows, options_.ranks)) {
    division.ranges = ranges_of_rows(rows, options_.ranks);
  } else {
    return found;
  }
  found.output = division;
  found.inputs[1] = Division{1, division.ranges};
  return found;
}

NodeDivision ValueDivisions::divide(const ir::FullyConnected& op, const ir::Node& node) const {
  if (op.zero_points != ir::ZeroPoints{}) return whole(node);
  NodeDivision found = divide_product(node);
  if (found.output && node.has_input(2)) found.inputs[2] = found.output;
  return found;
}

NodeDivision ValueDivisions::divide(const ir::ExpertProduct& /*op*/, const ir::Node& node) const {
  return divide_product(node);
}

NodeDivision ValueDivisions::divide(const ir::Unary& /*op*/, const ir::Node& node) const {
  return like_first(node);
}

NodeDivision ValueDivisions::divide(const ir::Binary& /*op*/, const ir::Node& node) const {
  NodeDivision found = whole(node);
  const ir::Shape& y = shape(node.output);
  const auto spans = [&](ir::ValueId input, const Division& division) {
    const ir::Shape& x = shape(input);
    return x.rank() > division.axis && extent(x, division.axis) == extent(y, division.axis);
  };
  for (const ir::ValueId input : node.inputs) {
    const std::optional<Division>& division = of(input);
    if (!found.output && division && spans(input, *division)) found.output = division;
  }
  if (!found.output) return found;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (spans(node.inputs[i], *found.output)) found.inputs[i] = found.output;
  }
  return found;
}

NodeDivision ValueDivisions::divide(const ir::Rotary& op, const ir::Node& node) const {
  const std::optional<Division>& x = of(node.inputs[0]);
  const std::size_t width = extent(shape(node.output), 0) / op.heads;
  if (!x || x->axis != 0 || !divided_by(*x, width)) return whole(node);
  return like_first(node);
}

NodeDivision ValueDivisions::divide(const ir::Normalize& op, const ir::Node& node) const {
  const std::optional<Division>& x = of(node.inputs[0]);
  if (!x || std::ranges::count(op.axes, x->axis_of(shape(node.output))) > 0) return whole(node);
  return like_first(node);
}

NodeDivision ValueDivisions::divide(const ir::Reduce& op, const ir::Node& node) const {
  const std::optional<Division>& x = of(node.inputs[0]);
  if (!x) return whole(node);
  const std::size_t axis = x->axis_of(shape(node.inputs[0]));
  const bool keeps = std::ranges::all_of(
      op.axes, [&](std::size_t a) { return a < axis || (op.keep_dims && a != axis); });
  return keeps ? like_first(node) : whole(node);
}

NodeDivision ValueDivisions::divide(const ir::Reshape& /*op*/, const ir::Node& node) const {
  NodeDivision found = like_first(node);
  const ir::Shape& x = shape(node.inputs[0]);
  const ir::Shape& y = shape(node.output);
  // [..., heads width] as [..., heads, width] and back.
  const bool splits = y.rank() == x.rank() + 1;
  const ir::Shape& heads = splits ? y : x;
  const ir::Shape& rows = splits ? x : y;
  const bool is_known =
      heads.rank() == rows.rank() + 1 && rows.rank() >= 1 &&
      std::ranges::equal(rows.dims().first(rows.rank() - 1), heads.dims().first(rows.rank() - 1));
  if (!found.output || !is_known || found.output->axis != (splits ? 0 : 1)) return whole(node);
  const std::size_t width = extent(heads, 0);
  found.output = splits ? divided_by(*found.output, width) : scaled(*found.output, width);
  if (found.output) found.output->axis = splits ? 1 : 0;
  return found;
}

NodeDivision ValueDivisions::divide(const ir::Slice& op, const ir::Node& node) const {
  const std::optional<Division>& x = of(node.inputs[0]);
  if (!x || x->axis_of(shape(node.output)) == op.axis) return whole(node);
  return like_first(node);
}

NodeDivision ValueDivisions::divide(const ir::Concat& op, const ir::Node& node) const {
  NodeDivision found = whole(node);
  for (const ir::ValueId input : node.inputs) {
    if (!found.output) found.output = of(input);
  }
  if (!found.output || found.output->axis_of(shape(node.output)) == op.axis) return whole(node);
  std::ranges::fill(found.inputs, found.output);
  return found;
}

bool ValueDivisions::is_only_attended(ir::ValueId id) const {
  const std::vector<ir::NodeId> readers = graph_.consumers(id);
  const auto shares = [&](ir::NodeId reader) {
    const auto* op = std::get_if<ir::Attention>(&graph_.node(reader).op);
    const auto* first = std::get_if<ir::Attention>(&graph_.node(readers[0]).op);
    return op != nullptr && first != nullptr && op->heads == first->heads &&
           op->kv_heads == first->kv_heads;
  };
  return !readers.empty() && std::ranges::all_of(readers, shares);
}

NodeDivision ValueDivisions::divide(const ir::AppendRows& op, const ir::Node& node) const {
  const Wish& wanted = wish_for(node.output);
  const std::size_t width = extent(shape(node.output), 0);
  // The numbers of a piece share a scale.
  const bool is_apart = op.heads == wanted.units || op.numbers == ir::CacheNumbers::kFloat32 ||
                        op.numbers == ir::CacheNumbers::kFloat16;
  if (wanted.units == 0 || width % wanted.units != 0 || !is_apart ||
      !is_only_attended(node.output)) {
    return whole(node);
  }
  NodeDivision found = whole(node);
  found.output = scaled({0, wanted.ranges}, width / wanted.units);
  found.inputs[0] = found.inputs[1] = found.output;
  return found;
}

NodeDivision ValueDivisions::divide(const ir::Attention& op, const ir::Node& node) const {
  const std::optional<Division>& keys = of(node.inputs[kKeys]);
  const std::optional<Division>& values = of(node.inputs[kValues]);
  if (!node.has_input(ir::Attention::kSlots) || !keys || !values) return whole(node);
  const HeadRanges ranges = ranges_of_heads(op, options_.ranks);
  const auto of_width = [&](ir::ValueId id) {
    return scaled({0, ranges.heads}, extent(shape(id), 0) / op.heads);
  };
  NodeDivision found = whole(node);
  found.output = of_width(node.output);
  found.inputs[0] = of_width(node.inputs[0]);
  found.inputs[kKeys] = keys;
  found.inputs[kValues] = values;
  if (node.has_input(ir::Attention::kSinks)) {
    found.inputs[ir::Attention::kSinks] = Division{0, ranges.heads};
  }
  return found;
}

ir::Operator part_of(const ir::Graph& graph, const ir::Node& node, const NodeDivision& division,
                     std::size_t rank) {
  ir::Operator op = node.op;
  if (!division.output) return op;
  const ir::Shape& whole = graph.value(node.output).type.shape;
  const auto share = [&](std::size_t heads, std::size_t axis_extent, std::size_t count) {
    return count * heads / axis_extent;
  };
  const std::size_t count = division.output->ranges[rank].count;
  if (auto* rotary = std::get_if<ir::Rotary>(&op)) {
    rotary->heads = share(rotary->heads, extent(whole, 0), count);
  } else if (auto* rows = std::get_if<ir::AppendRows>(&op)) {
    rows->heads = std::max<std::size_t>(share(rows->heads, extent(whole, 0), count), 1);
  } else if (auto* attention = std::get_if<ir::Attention>(&op)) {
    const ir::Shape& keys = graph.value(node.inputs[kKeys]).type.shape;
    const std::size_t of_keys = division.inputs[kKeys]->ranges[rank].count;
    attention->heads = share(attention->heads, extent(whole, 0), count);
    attention->kv_heads = share(attention->kv_heads, extent(keys, 0), of_keys);
  } else if (auto* reshape = std::get_if<ir::Reshape>(&op)) {
    reshape->shape = part_of(whole, *division.output, rank);
  }
  return op;
}

}  // namespace halftone::lm
