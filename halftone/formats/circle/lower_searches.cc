// SPDX-License-Identifier: Apache-2.0
// Searches by TOPK_V2, which has as many results as elements: the indices of those that are marked
// come first, in order.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "halftone/formats/circle/lower.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

class SearchRewrite : protected NodeRewrite {
 protected:
  SearchRewrite(ir::Graph& graph, ir::NodeId id) : NodeRewrite(graph, id) {}

  [[nodiscard]] const ir::ValueType& type(ValueId id) const { return graph_.value(id).type; }
  [[nodiscard]] ir::Shape shape(ValueId id) const { return type(id).shape; }

  ValueId constant(const ir::Shape& shape, std::vector<std::int64_t> numbers,
                   ElementType element = ElementType::kInt64) {
    return graph_.add_constant(
        node_.name + "/numbers",
        ir::Tensor::from<std::int64_t>(shape, std::span<const std::int64_t>(numbers))
            .cast(element));
  }
  ValueId binary(BinaryKind kind, ValueId a, ValueId b) {
    return add(ir::Binary{kind, {}}, {a, b});
  }
  ValueId negated(ValueId flags) {
    return add(ir::Unary{{ir::ActivationKind::kNot, 0, 0}}, {flags});
  }
  ValueId slice(ValueId x, std::size_t axis, Dim begin, Dim count) {
    return add(ir::Slice{axis, static_cast<std::size_t>(begin), 1, static_cast<std::size_t>(count)},
               {x});
  }
  ValueId reshape(ValueId x, ir::Shape to) { return add(ir::Reshape{std::move(to)}, {x}); }
  ValueId cast(ValueId x, ElementType element) {
    return type(x).is_dense(element) ? x : add(ir::Cast{element}, {x});
  }
  /// Indices counted from the front, as files have them. @param extents  of a type that broadcasts
  ValueId from_front(ValueId indices, ValueId extents) {
    const ValueId zero = constant({}, {0}, type(indices).encoding.element);
    const ValueId behind = binary(BinaryKind::kLess, indices, zero);
    return add(ir::Where{}, {behind, binary(BinaryKind::kAdd, indices, extents), indices});
  }
  [[nodiscard]] bool is_from_front(ValueId indices) const {
    const auto producer = graph_.producer(indices);
    return producer && (std::holds_alternative<ir::TopK>(graph_.node(*producer).op) ||
                        std::holds_alternative<ir::ArgReduce>(graph_.node(*producer).op));
  }
  /// Indices of the elements of a list, the least first.
  ValueId ascending(ValueId list) {
    return add(ir::TopK{0, static_cast<std::size_t>(shape(list)[0]), false}, {list});
  }

  /// Indices of a list of booleans: first those that are true, in order.
  ValueId marked_first(ValueId flags) {
    const auto count = static_cast<std::size_t>(shape(flags)[0]);
    return add(ir::TopK{0, count, true}, {cast(flags, ElementType::kInt32)});
  }
  /// Values in the order of indices, with -1 where the flag there is false.
  ValueId only_marked(ValueId values, ValueId flags, ValueId order) {
    return add(ir::Where{}, {add(ir::Gather{0}, {flags, order}), values, constant({}, {-1})});
  }
};

class NonZeroRewrite : SearchRewrite {
 public:
  NonZeroRewrite(ir::Graph& graph, ir::NodeId id) : SearchRewrite(graph, id) {}

  void run() {
    const ValueId x = node_.inputs[0];
    const ir::Shape from = shape(x);
    if (!from.is_static()) return;
    const auto count = static_cast<Dim>(from.element_count());
    ValueId flags = reshape(x, {count});
    if (!type(x).is_dense(ElementType::kBool)) {
      const ValueId zero =
          graph_.add_constant("zero", ir::Tensor(type(x).encoding.element, ir::Shape{}));
      flags = negated(binary(BinaryKind::kEqual, flags, zero));
    }
    const ValueId order = marked_first(flags);
    std::vector<ValueId> rows;
    for (std::size_t axis = 0; axis < from.rank(); ++axis) {
      rows.push_back(reshape(only_marked(coordinate(order, from, axis), flags, order), {1, count}));
    }
    replace_output(rows.size() == 1 ? rows[0] : add(ir::Concat{0}, std::move(rows)));
  }

 private:
  ValueId coordinate(ValueId order, const ir::Shape& from, std::size_t axis) {
    if (from.rank() == 1) return order;
    Dim inner = 1;
    for (std::size_t i = axis + 1; i < from.rank(); ++i) inner *= from[i];
    const ValueId narrow = cast(order, ElementType::kInt32);
    const ValueId rows = binary(BinaryKind::kDiv, narrow,
                                constant({}, {std::max<Dim>(inner, 1)}, ElementType::kInt32));
    const ValueId at = binary(BinaryKind::kMod, rows,
                              constant({}, {std::max<Dim>(from[axis], 1)}, ElementType::kInt32));
    return cast(at, ElementType::kInt64);
  }
};

class UniqueRewrite : SearchRewrite {
 public:
  UniqueRewrite(ir::Graph& graph, ir::NodeId id) : SearchRewrite(graph, id) {}

  void run() {
    const auto& op = std::get<ir::Unique>(node_.op);
    const ValueId x = node_.inputs[0];
    const bool is_first = op.result == ir::UniqueResult::kFirst;
    if (shape(x).rank() != 1 || !shape(x).is_static() || shape(x)[0] == 0) return;
    if (!is_first && !op.sorted) return;  // an operator of the file
    const ValueId order = ascending(x);
    const ValueId changes = changes_of(add(ir::Gather{0}, {x, order}));
    if (is_first && op.sorted) {
      const ValueId first = marked_first(changes);
      return replace_output(only_marked(add(ir::Gather{0}, {order, first}), changes, first));
    }
    const ValueId rank = ascending(cast(order, ElementType::kInt32));
    if (is_first) {
      const ValueId flags = add(ir::Gather{0}, {changes, rank});
      const ValueId first = marked_first(flags);
      return replace_output(only_marked(first, flags, first));
    }
    const ValueId counts = add(ir::CumSum{}, {cast(changes, ElementType::kInt32)});
    const ValueId groups = binary(BinaryKind::kSub, counts, constant({}, {1}, ElementType::kInt32));
    replace_output(cast(add(ir::Gather{0}, {groups, rank}), ElementType::kInt64));
  }

 private:
  /// Which elements of a sorted list differ from the one before; the first does.
  ValueId changes_of(ValueId sorted) {
    ir::Tensor yes(ElementType::kBool, {1});
    yes.bytes()[0] = std::byte{1};
    const ValueId first = graph_.add_constant("true", std::move(yes));
    const Dim count = shape(sorted)[0];
    if (count == 1) return first;
    const ValueId same =
        binary(BinaryKind::kEqual, slice(sorted, 0, 1, count - 1), slice(sorted, 0, 0, count - 1));
    return add(ir::Concat{0}, {first, negated(same)});
  }
};

/// NonMaxSuppression of one image and class at a time.
class SuppressionRewrite : SearchRewrite {
 public:
  SuppressionRewrite(ir::Graph& graph, ir::NodeId id)
      : SearchRewrite(graph, id), op_(std::get<ir::NonMaxSuppression>(node_.op)) {}

  void run() {
    constexpr Dim kMaxClasses = 1024;
    const ir::Shape scores = shape(node_.inputs[1]);
    if (!scores.is_static() || !shape(node_.inputs[0]).is_static()) return;
    const Dim images = scores[0];
    const Dim classes = scores[1];
    const bool is_one = images == 1 && classes == 1;
    if (node_.inputs.size() > 2 || images * classes > kMaxClasses || images * classes == 0 ||
        (is_one && !op_.centers))
      return;
    const ValueId boxes = op_.centers ? corners() : node_.inputs[0];
    op_.centers = false;
    std::vector<ValueId> found;
    std::vector<std::int64_t> pairs;
    for (Dim n = 0; n < images; ++n) {
      const ValueId image = slice(boxes, 0, n, 1);
      const ValueId rows = slice(node_.inputs[1], 0, n, 1);
      for (Dim c = 0; c < classes; ++c) {
        const ValueId each = add(op_, {image, slice(rows, 1, c, 1)});
        for (Dim k = 0; k < shape(each)[0]; ++k) pairs.insert(pairs.end(), {n, c});
        found.push_back(slice(each, 1, 2, 1));
      }
    }
    replace_output(joined(found, std::move(pairs)));
  }

 private:
  ValueId corners() {
    const ValueId boxes = node_.inputs[0];
    const std::array<float, 1> two = {2};
    const ValueId half =
        binary(BinaryKind::kDiv, slice(boxes, 2, 2, 2),
               graph_.add_constant("two", ir::Tensor::from<float>({}, std::span(two))));
    const ValueId centers = slice(boxes, 2, 0, 2);
    const ValueId first = binary(BinaryKind::kSub, centers, half);
    const ValueId last = binary(BinaryKind::kAdd, centers, half);
    std::vector<ValueId> parts;
    for (const ValueId corner : {first, last}) {
      parts.push_back(slice(corner, 2, 1, 1));
      parts.push_back(slice(corner, 2, 0, 1));
    }
    return add(ir::Concat{2}, std::move(parts));
  }

  /// Rows (image, class, box) of the boxes that were found, then rows of -1.
  ValueId joined(std::vector<ValueId> found, std::vector<std::int64_t> pairs) {
    const ValueId boxes = found.size() == 1 ? found[0] : add(ir::Concat{0}, std::move(found));
    const Dim count = shape(boxes)[0];
    const ValueId rows = add(ir::Concat{1}, {constant({count, 2}, std::move(pairs)), boxes});
    const ValueId exists = binary(BinaryKind::kGreaterOrEqual, boxes, constant({}, {0}));
    const ValueId valid = add(ir::Where{}, {exists, rows, constant({}, {-1})});
    return add(ir::Gather{0}, {valid, marked_first(reshape(exists, {count}))});
  }

  ir::NonMaxSuppression op_;
};

class TopKRewrite : SearchRewrite {
 public:
  TopKRewrite(ir::Graph& graph, ir::NodeId id) : SearchRewrite(graph, id) {}

  void run() {
    auto op = std::get<ir::TopK>(node_.op);
    const std::size_t last = shape(node_.output).rank() - 1;
    if (op.axis == last && op.largest) return;
    ValueId x = node_.inputs[0];
    if (!op.largest) x = opposite(x);
    std::vector<std::size_t> exchange(last + 1);
    std::iota(exchange.begin(), exchange.end(), std::size_t{0});
    std::swap(exchange[op.axis], exchange[last]);
    const bool turns = op.axis != last;
    if (turns) x = add(ir::Transpose{exchange}, {x});
    const ValueId found = add(ir::TopK{last, op.k, true}, {x});
    replace_output(turns ? add(ir::Transpose{exchange}, {found}) : found);
  }

 private:
  ValueId opposite(ValueId x) {
    if (type(x).is_dense(ElementType::kFloat32)) {
      return add(ir::Unary{{ir::ActivationKind::kNeg, 0, 0}}, {x});
    }
    const bool is_wide = type(x).is_dense(ElementType::kInt64);
    const ElementType element = is_wide ? ElementType::kInt64 : ElementType::kInt32;
    // -1 - x has no overflow.
    return binary(BinaryKind::kSub, constant({}, {-1}, element), cast(x, element));
  }
};

/// Elements at indices along one axis, from the tensor as a list.
class GatherElementsRewrite : SearchRewrite {
 public:
  GatherElementsRewrite(ir::Graph& graph, ir::NodeId id) : SearchRewrite(graph, id) {}

  void run() {
    const std::size_t axis = std::get<ir::GatherElements>(node_.op).axis;
    const ValueId x = node_.inputs[0];
    ValueId indices = node_.inputs[1];
    const ir::Shape from = shape(x);
    const ir::Shape to = shape(indices);
    if (!is_from_front(indices) && from[axis] >= 0) {
      indices = from_front(indices, constant({}, {from[axis]}, type(indices).encoding.element));
    }
    if (from.rank() == 1) return replace_output(add(ir::Gather{0}, {x, indices}));
    constexpr std::size_t kMaxElements = std::size_t{1} << 24;
    if (!from.is_static() || !to.is_static() || to.element_count() > kMaxElements) return;
    std::vector<Dim> strides(from.rank(), 1);
    for (std::size_t i = from.rank() - 1; i-- > 0;) strides[i] = strides[i + 1] * from[i + 1];
    std::vector<std::int64_t> base;
    std::vector<Dim> at(to.rank(), 0);
    for (std::size_t n = 0; n < to.element_count(); ++n) {
      Dim sum = 0;
      for (std::size_t i = 0; i < to.rank(); ++i) sum += i == axis ? 0 : at[i] * strides[i];
      base.push_back(sum);
      for (std::size_t i = to.rank(); i-- > 0 && ++at[i] == to[i];) at[i] = 0;
    }
    const ElementType element = type(indices).encoding.element;
    const ValueId steps = binary(BinaryKind::kMul, indices, constant({}, {strides[axis]}, element));
    const ValueId positions =
        binary(BinaryKind::kAdd, steps, constant(to, std::move(base), element));
    const ValueId list = reshape(x, {static_cast<Dim>(from.element_count())});
    replace_output(add(ir::Gather{0}, {list, positions}));
  }
};

class GatherNDRewrite : SearchRewrite {
 public:
  GatherNDRewrite(ir::Graph& graph, ir::NodeId id) : SearchRewrite(graph, id) {}

  void run() {
    const auto op = std::get<ir::GatherND>(node_.op);
    const ValueId indices = node_.inputs[1];
    const ir::Shape from = shape(node_.inputs[0]);
    const auto depth = static_cast<std::size_t>(shape(indices).back());
    const auto extents = from.dims().first(depth);
    const bool is_known = std::ranges::all_of(extents, [](Dim extent) { return extent >= 0; });
    if (op.batch_dims != 0 || !is_known) return;
    const ValueId bounds = constant({static_cast<Dim>(depth)}, {extents.begin(), extents.end()},
                                    type(indices).encoding.element);
    replace_output(add(op, {node_.inputs[0], from_front(indices, bounds)}));
  }
};

class ArgReduceRewrite : SearchRewrite {
 public:
  ArgReduceRewrite(ir::Graph& graph, ir::NodeId id) : SearchRewrite(graph, id) {}

  void run() {
    auto op = std::get<ir::ArgReduce>(node_.op);
    if (!op.keep_dims) return;
    op.keep_dims = false;
    replace_output(reshape(add(op, {node_.inputs[0]}), shape(node_.output)));
  }
};

template <typename Op, typename Rewrite>
void rewrite_all(ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    if (std::holds_alternative<Op>(graph.node(id).op)) Rewrite(graph, id).run();
  }
}

}  // namespace

void lower_searches(ir::Graph& graph) {
  rewrite_all<ir::NonZero, NonZeroRewrite>(graph);
  rewrite_all<ir::Unique, UniqueRewrite>(graph);
  rewrite_all<ir::NonMaxSuppression, SuppressionRewrite>(graph);
  rewrite_all<ir::TopK, TopKRewrite>(graph);
  rewrite_all<ir::GatherElements, GatherElementsRewrite>(graph);
  rewrite_all<ir::GatherND, GatherNDRewrite>(graph);
  rewrite_all<ir::ArgReduce, ArgReduceRewrite>(graph);
  graph.remove_unused_nodes();
}

}  // namespace halftone::formats::circle
