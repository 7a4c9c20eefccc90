// SPDX-License-Identifier: Apache-2.0
// Between extents and values: integers that the network computes become extents, and extents become
// values that other operators read.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "halftone/formats/extent_value.h"
#include "halftone/formats/onnx/counted_extent.h"
#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {
namespace {

/// What computes a float of two others.
ir::BinaryKind binary_of(Extent::AtomKind kind) {
  using AtomKind = Extent::AtomKind;
  static constexpr std::pair<AtomKind, ir::BinaryKind> kKinds[] = {
      {AtomKind::kLeast, ir::BinaryKind::kMin},
      {AtomKind::kGreatest, ir::BinaryKind::kMax},
      {AtomKind::kRealProduct, ir::BinaryKind::kMul},
      {AtomKind::kRealQuotient, ir::BinaryKind::kDiv},
      {AtomKind::kRealSum, ir::BinaryKind::kAdd},
      {AtomKind::kRealDifference, ir::BinaryKind::kSub}};
  return std::ranges::find(kKinds, kind, [](const auto& row) { return row.first; })->second;
}

/// A float of shape arithmetic as a value, float32 [].
ir::ValueId add_real(ir::Graph& graph, const std::string& name, const Extent& bits) {
  if (bits.is_number()) {
    return graph.add_constant(name, to_tensor({true, ir::ElementType::kFloat32, {bits}}));
  }
  const Extent::Atom& atom = *bits.terms().begin()->second.atoms[0];
  if (atom.kind == Extent::AtomKind::kReal) {
    return graph.add_node(name, ir::Cast{ir::ElementType::kFloat32},
                          {add_extent_value(graph, name, atom.a)});
  }
  const ir::ValueId a = add_real(graph, name, atom.a);
  return graph.add_node(name, ir::Binary{binary_of(atom.kind), {}},
                        {a, add_real(graph, name, atom.b)});
}

}  // namespace

ir::ValueId ImportState::add_integers(const std::string& name, const Integers& integers) {
  if (integers.numbers()) return graph.add_constant(name, to_tensor(integers));
  std::vector<ir::ValueId> parts;
  for (const Extent& extent : integers.values) {
    parts.push_back(integers.is_float() ? add_real(graph, name, extent)
                                        : add_extent_value(graph, name, extent));
    if (integers.is_scalar) continue;
    parts.back() = graph.add_node(name, ir::Reshape{{1}}, {parts.back()});
  }
  ir::ValueId value =
      parts.size() == 1 ? parts[0] : graph.add_node(name, ir::Concat{0}, std::move(parts));
  if (integers.columns != 0) {
    const std::size_t rows = integers.values.size() / integers.columns;
    const ir::Shape matrix{static_cast<ir::Dim>(rows), static_cast<ir::Dim>(integers.columns)};
    value = graph.add_node(name, ir::Reshape{matrix}, {value});
  }
  const bool is_stored = integers.is_float() || integers.element == ir::ElementType::kInt64;
  return is_stored ? value : graph.add_node(name, ir::Cast{integers.element}, {value});
}

std::optional<Integers> NodeBuilder::extents(std::size_t i) {
  if (auto known = integers(i)) return known;
  const auto* id = input_as<ir::ValueId>(i);
  return id == nullptr ? std::nullopt : extents_of(*id);
}

std::optional<Integers> NodeBuilder::extents_of(ir::ValueId list) {
  constexpr ir::Dim kMaxComputed = 32;
  const ir::ValueType wanted = type(list);
  const ir::ElementType element = wanted.encoding.element;
  const bool is_whole = wanted.encoding.is_dense() &&
                        (element == ir::ElementType::kInt64 || element == ir::ElementType::kInt32);
  if (!is_whole || wanted.shape.rank() > 1 || !wanted.shape.is_static()) return std::nullopt;
  Integers result{wanted.shape.rank() == 0, element, {}};
  const ir::Dim count = result.is_scalar ? 1 : wanted.shape[0];
  if (count > kMaxComputed) return std::nullopt;
  for (ir::Dim k = 0; k < count; ++k) {
    const ir::Slice one{0, static_cast<std::size_t>(k), 1, 1};
    result.values.push_back(
        computed_extent(count == 1 ? list : emit(one, {list}, "extent" + std::to_string(k))));
  }
  return result;
}

Extent NodeBuilder::computed_extent(ir::ValueId id) {
  const auto known = state_.computed.find(id);
  if (known != state_.computed.end()) return known->second;
  if (const auto counted = counted_extent(state_.graph, id)) return *counted;
  ir::ValueId number = id;
  if (type(number).encoding.element != ir::ElementType::kInt64) {
    number = emit(ir::Cast{ir::ElementType::kInt64}, {number}, "extent");
  }
  if (type(number).shape.rank() != 0) number = emit(ir::Reshape{{}}, {number}, "extent");
  if (const ir::Tensor* tensor = constant(number)) return Extent(tensor->as<std::int64_t>()[0]);
  std::string symbol = state_.graph.fresh_symbol();
  Extent extent = Extent::symbol(symbol);
  state_.graph.define(std::move(symbol), number);
  state_.computed.emplace(id, extent);
  return extent;
}

}  // namespace halftone::formats::onnx
