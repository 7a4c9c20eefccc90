// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/counted_extent.h"

#include <variant>

namespace halftone::formats::onnx {
namespace {

/// The operator that computes a value if it is of this type, else null.
template <typename Op>
const Op* computed_by(const ir::Graph& graph, ir::ValueId id) {
  const auto producer = graph.producer(id);
  return producer ? std::get_if<Op>(&graph.node(*producer).op) : nullptr;
}

/// Input i of the node that computes a value. @pre there is one
ir::ValueId input_of(const ir::Graph& graph, ir::ValueId id, std::size_t i = 0) {
  return graph.node(*graph.producer(id)).inputs[i];
}

bool is_whole_zero(const ir::Graph& graph, ir::ValueId id) {
  const ir::Constant* constant = graph.constant(id);
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  return tensor != nullptr && tensor->element() == ir::ElementType::kInt64 && tensor->size() == 1 &&
         tensor->as<std::int64_t>()[0] == 0;
}

/// The list of which a value counts the elements that are not below 0; nothing for other values.
std::optional<ir::ValueId> counted_list(const ir::Graph& graph, ir::ValueId id) {
  const auto* sum = computed_by<ir::Reduce>(graph, id);
  if (sum == nullptr || sum->kind != ir::ReduceKind::kSum) return std::nullopt;
  const ir::ValueId ones = input_of(graph, id);
  if (computed_by<ir::Cast>(graph, ones) == nullptr) return std::nullopt;
  const ir::ValueId found = input_of(graph, ones);
  const auto* compare = computed_by<ir::Binary>(graph, found);
  const bool is_count = compare != nullptr && compare->kind == ir::BinaryKind::kGreaterOrEqual &&
                        is_whole_zero(graph, input_of(graph, found, 1));
  return is_count ? std::optional(input_of(graph, found)) : std::nullopt;
}

bool is_search(const ir::Graph& graph, ir::ValueId id) {
  const auto* unique = computed_by<ir::Unique>(graph, id);
  return computed_by<ir::NonZero>(graph, id) != nullptr ||
         computed_by<ir::NonMaxSuppression>(graph, id) != nullptr ||
         (unique != nullptr && unique->result == ir::UniqueResult::kFirst);
}

}  // namespace

std::optional<ir::Extent> counted_extent(const ir::Graph& graph, ir::ValueId id) {
  auto list = counted_list(graph, id);
  if (!list) return std::nullopt;
  const auto* line = computed_by<ir::Slice>(graph, *list);  // a row or column
  if (line != nullptr && line->begin == 0 && line->count == 1) list = input_of(graph, *list);
  const auto* first = computed_by<ir::Slice>(graph, *list);
  if (first == nullptr || first->begin != 0 || first->step != 1) return std::nullopt;
  const auto count = static_cast<ir::Dim>(first->count);
  if (!ir::is_expression(count) || !is_search(graph, input_of(graph, *list))) return std::nullopt;
  return ir::extent_of(count);
}

}  // namespace halftone::formats::onnx
