// SPDX-License-Identifier: Apache-2.0
// If: the branch that a known condition chooses, or both and a Where.
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/subgraph.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {
namespace {

std::vector<Binding> import_branch(NodeBuilder& node, const std::string& name) {
  const auto* branch = node.graph_attribute(name);
  if (branch == nullptr) fail(ErrorKind::kFormat, "expected two branches");
  std::vector<Binding> outputs = inline_graph(node.state(), *branch);
  if (outputs.size() < node.num_outputs()) {
    fail(ErrorKind::kFormat, "expected " + std::to_string(node.num_outputs()) +
                                 " outputs of a branch, found " + std::to_string(outputs.size()));
  }
  return outputs;
}

std::set<std::string> symbols_of(const Extent& a, const Extent& b) {
  std::set<std::string> symbols;
  a.add_symbols(symbols);
  b.add_symbols(symbols);
  return symbols;
}

/// Whether two extents differ where all symbols have a size.
bool differ_at(const Extent& a, const Extent& b, std::int64_t size) {
  ir::Sizes sizes;
  for (const std::string& symbol : symbols_of(a, b)) sizes.emplace(symbol, size);
  try {
    return a.with(sizes) != b.with(sizes);
  } catch (const Error&) {
    return false;  // a quotient by 0
  }
}

/// Whether extents of two branches may differ when the network runs: where it computes one of them,
/// and where they differ at some sizes.
bool needs_choice(ir::Dim a, ir::Dim b) {
  if (a == b || ir::depends_on_batch(a) || ir::depends_on_batch(b)) return false;
  const Extent first = ir::extent_of(a);
  const Extent second = ir::extent_of(b);
  if (std::ranges::any_of(symbols_of(first, second), ir::is_computed)) return true;
  return std::ranges::any_of(std::array{64, 97, 224, 1001},
                             [&](std::int64_t size) { return differ_at(first, second, size); });
}

/// Whether extents that need no choice differ at small sizes.
bool differ_where_small(const ir::Shape& a, const ir::Shape& b) {
  constexpr std::array kSmall = {1, 2, 3, 5, 8, 13};
  for (std::size_t axis = 0; axis < a.rank(); ++axis) {
    if (a[axis] == b[axis] || needs_choice(a[axis], b[axis])) continue;
    const auto differ = [&](std::int64_t size) {
      return differ_at(ir::extent_of(a[axis]), ir::extent_of(b[axis]), size);
    };
    if (std::ranges::any_of(kSmall, differ)) return true;
  }
  return false;
}

/// Whether a value depends on inputs of the network, not on their extents alone.
bool reads_inputs(const ir::Graph& graph, ir::ValueId value) {
  std::set<ir::ValueId> seen;
  std::vector<ir::ValueId> open{value};
  while (!open.empty()) {
    const ir::ValueId id = open.back();
    open.pop_back();
    if (id == ir::kAbsent || !seen.insert(id).second) continue;
    if (std::ranges::count(graph.inputs(), id) > 0) return true;
    const auto producer = graph.producer(id);
    if (!producer) continue;
    const auto& inputs = graph.node(*producer).inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return false;
}

/// Whether a value may be that of either of two branches.
bool may_be_chosen(const ir::ValueType& a, const ir::ValueType& b) {
  return a.encoding == b.encoding && a.shape.rank() == b.shape.rank() &&
         std::ranges::equal(a.shape.dims(), b.shape.dims(), [](ir::Dim first, ir::Dim second) {
           return ir::may_be_equal(first, second) || needs_choice(first, second);
         });
}

/// A value with zeros behind its elements along an axis.
ir::ValueId padded(NodeBuilder& node, ir::ValueId x, std::size_t axis, const Extent& extent) {
  ir::Shape shape = node.type(x).shape;
  const Extent more = extent - ir::extent_of(shape[axis]);
  if (more == Extent(0)) return x;
  shape[axis] = ir::dim_of(more);
  const ir::ValueId zero = node.add_scalar(0.0, node.type(x).encoding.element);
  return node.emit(ir::Concat{axis}, {x, node.emit(ir::BroadcastTo{shape}, {zero})});
}

/// The value of one of two branches. Along axes where they have different numbers of elements, both
/// are padded to the larger one, and the result has as many as the branch that is taken.
ir::ValueId choose(NodeBuilder& node, ir::ValueId condition, ir::ValueId a, ir::ValueId b) {
  const ir::Shape first = node.type(a).shape;
  const ir::Shape second = node.type(b).shape;
  for (std::size_t axis = 0; axis < first.rank(); ++axis) {
    if (!needs_choice(first[axis], second[axis])) continue;
    const Extent most = Extent::greatest(ir::extent_of(first[axis]), ir::extent_of(second[axis]));
    a = padded(node, a, axis, most);
    b = padded(node, b, axis, most);
  }
  ir::ValueId y = emit_where(node, condition, a, b);
  for (std::size_t axis = 0; axis < first.rank(); ++axis) {
    if (!needs_choice(first[axis], second[axis])) continue;
    const auto extent = [&](const ir::Shape& shape) {
      const Integers one{true, ir::ElementType::kInt64, {ir::extent_of(shape[axis])}};
      return node.state().add_integers(node.output_name() + "/extent", one);
    };
    const Extent count =
        node.computed_extent(emit_where(node, condition, extent(first), extent(second)));
    y = node.emit(ir::Slice{axis, 0, 1, static_cast<std::size_t>(ir::dim_of(count))}, {y});
  }
  return y;
}

/// Binds an output to a choice between what two branches computed. A plan leaves out the steps of
/// the other branch.
void bind_choice(NodeBuilder& node, std::size_t i, ir::ValueId condition,
                 std::pair<Binding, Binding> outputs) {
  Binding& then = outputs.first;
  Binding& otherwise = outputs.second;
  for (const Binding& output : {then, otherwise}) {
    if (std::holds_alternative<Unavailable>(output)) return node.bind_output(i, output);
  }
  const auto* integers = std::get_if<Integers>(&then);
  const auto* others = std::get_if<Integers>(&otherwise);
  if (integers != nullptr && others != nullptr && *integers == *others) {
    return node.bind_output(i, then);
  }
  const std::string name = node.proto().output(static_cast<int>(i));
  const ir::ValueId a = node.state().value(name, then);
  const ir::ValueId b = node.state().value(name, otherwise);
  if (!may_be_chosen(node.type(a), node.type(b))) {
    NodeBuilder::unsupported("output '" + name + "' is " + node.type(a).to_string() +
                             " in one branch and " + node.type(b).to_string() +
                             " in the other: expected one type");
  }
  if (differ_where_small(node.type(a).shape, node.type(b).shape) &&
      !reads_inputs(node.state().graph, condition)) {
    NodeBuilder::unsupported("a condition on open extents");  // numbers choose the branch
  }
  const ir::ValueId y = choose(node, condition, a, b);
  const auto narrow = node.state().widened.find(a);
  if (narrow == node.state().widened.end()) return node.set_output(i, y);
  node.set_output(i, y, narrow->second);
}

void build_if(NodeBuilder& node) {
  const ir::ValueId condition = node.input(0);
  const ir::ValueType& type = node.type(condition);
  if (!type.is_dense(ir::ElementType::kBool) || !type.shape.is_static() ||
      type.shape.element_count() != 1) {
    fail(ErrorKind::kShape, "condition: expected one boolean, found " + type.to_string());
  }
  if (node.constant(condition) != nullptr) {
    const bool holds = node.scalar_input(0) != 0;
    const auto outputs = import_branch(node, holds ? "then_branch" : "else_branch");
    for (std::size_t i = 0; i < node.num_outputs(); ++i) node.bind_output(i, outputs[i]);
    return;
  }
  const std::vector<Binding> then = import_branch(node, "then_branch");
  const std::vector<Binding> otherwise = import_branch(node, "else_branch");
  const ir::ValueId scalar = node.reshape(condition, {});
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    if (node.has_output(i)) bind_choice(node, i, scalar, {then[i], otherwise[i]});
  }
}

constexpr ReaderEntry kControlReaders[] = {
    {"", "If", build_if},
};

}  // namespace

std::span<const ReaderEntry> control_readers() { return kControlReaders; }

}  // namespace halftone::formats::onnx
