// SPDX-License-Identifier: Apache-2.0
// Integers as extents. Those that follow from shapes are known while the file is read, with symbols
// for extents that are open; those that the network computes of data become symbols.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "halftone/formats/circle/importer.h"
#include "halftone/formats/extent_value.h"

namespace halftone::formats::circle {

std::optional<std::vector<std::int64_t>> numbers_of(const Extents& extents) {
  std::vector<std::int64_t> numbers;
  for (const ir::Extent& extent : extents) {
    const auto number = extent.number();
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

namespace {

using ir::BinaryKind;
using ir::ElementType;
using ir::Extent;
using ir::ValueId;

/// The element of another value that an element of a list is: behind conversions, and of one part
/// of a list that is joined.
std::pair<ValueId, std::size_t> source_of(const ir::Graph& graph, ValueId list, std::size_t index) {
  while (const auto producer = graph.producer(list)) {
    const ir::Node& node = graph.node(*producer);
    if (std::holds_alternative<ir::Cast>(node.op) || std::holds_alternative<ir::Reshape>(node.op)) {
      const ir::ValueType& from = graph.value(node.inputs[0]).type;
      if (from.is_dense(ElementType::kFloat32) || from.shape.rank() > 1) break;
      list = node.inputs[0];
    } else if (std::holds_alternative<ir::Concat>(node.op)) {
      std::size_t part = 0;
      const auto count = [&] {
        return static_cast<std::size_t>(graph.value(node.inputs[part]).type.shape[0]);
      };
      while (index >= count()) index -= count(), ++part;
      list = node.inputs[part];
    } else {
      break;
    }
  }
  return {list, index};
}

/// The numbers of a small constant; nothing if one is not whole.
std::optional<Extents> whole_numbers(const ir::Constant& constant) {
  constexpr double kMaxWhole = 1 << 24;  // floats have gaps beyond
  const auto* tensor = std::get_if<ir::Tensor>(&constant);
  if (tensor == nullptr || tensor->size() > FileModel::kMaxOperands) return std::nullopt;
  const bool is_float = tensor->element() == ElementType::kFloat32;
  const auto is_whole = [](float x) { return std::abs(x) <= kMaxWhole && x == std::trunc(x); };
  if (is_float && !std::ranges::all_of(tensor->as<float>(), is_whole)) return std::nullopt;
  const ir::Tensor wide = tensor->cast(ElementType::kInt64);
  return Extents(wide.as<std::int64_t>().begin(), wide.as<std::int64_t>().end());
}

ir::Tensor tensor_of(ElementType element, const ir::Shape& shape,
                     const std::vector<std::int64_t>& numbers) {
  return ir::Tensor::from<std::int64_t>(shape, std::span(numbers)).cast(element);
}

/// What integers are, and of which shape.
struct Operand {
  Extents extents;
  ir::Shape shape;
};

/// Whether an operator moves elements of its inputs; of a Gather the second is no such input.
bool moves(const ir::Operator& op) {
  return std::holds_alternative<ir::Reshape>(op) || std::holds_alternative<ir::Transpose>(op) ||
         std::holds_alternative<ir::Concat>(op) || std::holds_alternative<ir::Slice>(op) ||
         std::holds_alternative<ir::BroadcastTo>(op) || std::holds_alternative<ir::Tile>(op) ||
         std::holds_alternative<ir::Gather>(op);
}

/// What such an operator makes of integers: it moves their indices.
std::optional<Extents> moved_extents(const ir::Operator& op, const std::vector<Operand>& operands) {
  std::vector<ir::Tensor> indices;
  Extents all;
  for (const auto& [extents, shape] : operands) {
    std::optional<std::vector<std::int64_t>> numbers(extents.size());
    if (std::holds_alternative<ir::Gather>(op) && !indices.empty()) {
      numbers = numbers_of(extents);
      if (!numbers) return std::nullopt;
    } else {
      std::iota(numbers->begin(), numbers->end(), std::ssize(all));
      all.insert(all.end(), extents.begin(), extents.end());
    }
    indices.push_back(tensor_of(ElementType::kInt64, shape, *numbers));
  }
  std::vector<const ir::Tensor*> inputs;
  for (const ir::Tensor& each : indices) inputs.push_back(&each);
  const ir::Tensor result = ir::evaluate_operator(op, inputs);
  Extents found;
  for (const std::int64_t index : result.as<std::int64_t>()) {
    found.push_back(all[static_cast<std::size_t>(index)]);
  }
  return found;
}

/// a op b; nothing where that is no extent.
std::optional<Extent> combined(BinaryKind kind, const Extent& a, const Extent& b) {
  const bool divides = b.is_number() && b.is_at_least(1) && a.is_at_least(0);
  if (kind == BinaryKind::kAdd) return a + b;
  if (kind == BinaryKind::kSub) return a - b;
  if (kind == BinaryKind::kMul) return a * b;
  if (kind == BinaryKind::kMin) return Extent::least(a, b);
  if (kind == BinaryKind::kMax) return Extent::greatest(a, b);
  if (kind == BinaryKind::kDiv && divides) return a.over(b);
  if (kind == BinaryKind::kMod && divides) return a - a.over(b) * b;
  return std::nullopt;
}

std::optional<Extents> combined(BinaryKind kind, const std::vector<Operand>& operands,
                                const ir::Shape& shape) {
  const Extents a = *moved_extents(ir::BroadcastTo{shape}, {operands[0]});
  const Extents b = *moved_extents(ir::BroadcastTo{shape}, {operands[1]});
  Extents result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto each = combined(kind, a[i], b[i]);
    if (!each) return std::nullopt;
    result.push_back(*each);
  }
  return result;
}

bool depends_on_batch(const Extents& extents) {
  return std::ranges::any_of(extents, &Extent::depends_on_batch);
}

/// What a node makes of integers. Of the batch, nothing but products: extents are multiples of it.
std::optional<Extents> result_of(const ir::Operator& op, const std::vector<Operand>& operands,
                                 const ir::ValueType& result) {
  if (moves(op)) return moved_extents(op, operands);
  const ElementType element = result.encoding.element;
  const bool is_exact = element == ElementType::kInt32 || element == ElementType::kInt64 ||
                        element == ElementType::kFloat32;
  if (!is_exact) return std::nullopt;
  if (std::holds_alternative<ir::Cast>(op)) return operands[0].extents;
  const auto depends = [](const Operand& operand) { return depends_on_batch(operand.extents); };
  const bool has_batch = std::ranges::any_of(operands, depends);
  const auto* binary = std::get_if<ir::Binary>(&op);
  const bool rounds =
      element == ElementType::kFloat32 && binary != nullptr && binary->kind == BinaryKind::kDiv;
  if (binary != nullptr && binary->activation == ir::Activation{} && !rounds &&
      (binary->kind == BinaryKind::kMul || !has_batch)) {
    return combined(binary->kind, operands, result.shape);
  }
  const auto* reduce = std::get_if<ir::Reduce>(&op);
  if (reduce == nullptr || reduce->kind != ir::ReduceKind::kProd ||
      result.shape.element_count() != 1) {
    return std::nullopt;
  }
  Extent product(1);
  for (const Extent& each : operands[0].extents) product = product * each;
  return Extents{product};
}

}  // namespace

std::optional<Extents> Importer::known_extents(ValueId value) const {
  if (const auto found = extents_.find(value); found != extents_.end()) return found->second;
  const ir::Constant* constant = graph_.constant(value);
  return constant == nullptr ? std::nullopt : whole_numbers(*constant);
}

bool Importer::counts_samples(ValueId value) const {
  const auto found = extents_.find(value);
  return found != extents_.end() && depends_on_batch(found->second);
}

ValueId Importer::add_extents(const std::string& name, ElementType element,
                              const Extents& extents) {
  const ir::Shape shape{static_cast<ir::Dim>(extents.size())};
  if (const auto numbers = numbers_of(extents)) {
    return graph_.add_constant(name, tensor_of(element, shape, *numbers));
  }
  std::vector<ValueId> parts;
  for (const Extent& extent : extents) {
    const ValueId part = extent.depends_on_batch() ? add_count_of_samples(name)
                                                   : add_extent_value(graph_, name, extent);
    parts.push_back(graph_.add_node(name, ir::Reshape{{1}}, {part}));
  }
  ValueId list = graph_.add_node(name, ir::Concat{0}, std::move(parts));
  if (element != ElementType::kInt64) list = graph_.add_node(name, ir::Cast{element}, {list});
  extents_[list] = extents;
  return list;
}

ValueId Importer::add_count_of_samples(const std::string& name) {
  const ValueId none = graph_.add_constant(name, ir::Tensor(ElementType::kInt64, ir::Shape{}));
  sample_counts_.push_back(graph_.add_node(name, ir::Reshape{{}}, {none}));
  return sample_counts_.back();
}

std::optional<Extents> Importer::extents_of(const ir::Node& node) {
  const auto follows = [&](ValueId id) { return extents_.contains(id); };
  if (std::ranges::none_of(node.inputs, follows)) return std::nullopt;
  std::vector<Operand> operands;
  bool has_batch = false;
  for (const ValueId id : node.inputs) {
    auto known = id == ir::kAbsent ? std::nullopt : known_extents(id);
    if (!known) return std::nullopt;
    has_batch = has_batch || depends_on_batch(*known);
    operands.push_back({std::move(*known), graph_.value(id).type.shape});
  }
  const bool is_copy = moves(node.op) || std::holds_alternative<ir::Cast>(node.op);
  const auto is_data = [](const Operand& each) {
    return std::ranges::any_of(each.extents, has_computed);
  };
  if (!is_copy && std::ranges::any_of(operands, is_data)) return std::nullopt;
  auto result = result_of(node.op, operands, graph_.value(node.output).type);
  if (!result && has_batch) refuse_count(graph_.value(node.output).name);
  return result;
}

Extent Importer::extent(ValueId list, std::size_t index) {
  const auto source = source_of(graph_, list, index);
  if (const auto known = known_extents(source.first)) return (*known)[source.second];
  const auto computed = computed_.find(source);
  if (computed != computed_.end()) return computed->second;
  const std::string name = graph_.value(source.first).name + "/extent" + std::to_string(index);
  ValueId number = source.first;
  if (graph_.value(number).type.shape.rank() == 1) {
    number = graph_.add_node(name, ir::Slice{0, source.second, 1, 1}, {number});
  }
  if (!graph_.value(number).type.is_dense(ElementType::kInt64)) {
    number = graph_.add_node(name, ir::Cast{ElementType::kInt64}, {number});
  }
  if (graph_.value(number).type.shape.rank() != 0) {
    number = graph_.add_node(name, ir::Reshape{{}}, {number});
  }
  const std::string symbol = graph_.fresh_symbol();
  graph_.define(symbol, number);
  return computed_[source] = Extent::symbol(symbol);
}

}  // namespace halftone::formats::circle
