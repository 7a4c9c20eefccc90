// SPDX-License-Identifier: Apache-2.0
// Operators that find elements: TFLite's boxes are padded to a known count; WHERE and UNIQUE have
// as many results as they find, which becomes an extent.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

ValueId whole_zeros(OperatorImport& op, const ir::Shape& shape) {
  return op.graph().add_constant("zero", ir::Tensor(ElementType::kInt64, shape));
}

/// How many entries of a list, int64 [bound] or [1, bound], are not below zero.
ValueId count_of(OperatorImport& op, ValueId list) {
  const ValueId found =
      op.step(ir::Binary{BinaryKind::kGreaterOrEqual, {}}, {list, whole_zeros(op, {})}, "found");
  const ValueId ones = op.step(ir::Cast{ElementType::kInt64}, {found}, "ones");
  std::vector<std::size_t> axes(op.shape(ones).rank());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return op.step(ir::Reduce{ir::ReduceKind::kSum, std::move(axes), false}, {ones}, "count");
}

/// A slice of the first entries along an axis, as many as a list has that are not below zero.
ir::Slice first_of(OperatorImport& op, ValueId list, std::size_t axis) {
  const std::string symbol = op.graph().fresh_symbol();
  const ValueId number = count_of(op, list);
  op.graph().define(symbol, number);
  const auto count = ir::Extent::symbol(symbol);
  op.importer().set_extents(number, {count});
  return {axis, 0, 1, static_cast<std::size_t>(ir::dim_of(count))};
}

/// The one number of a constant input.
float number_of(OperatorImport& op, std::size_t i) {
  const ir::Constant* constant = op.graph().constant(op.number(i));
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  if (tensor == nullptr || tensor->size() != 1) {
    op.refuse_input(i, "expected a constant number");
  }
  return tensor->as<float>()[0];
}

/// Entries [3] of selected boxes as indices [most], with zeros past the last.
ValueId padded_indices(OperatorImport& op, ValueId column, Dim most) {
  ValueId indices =
      op.step(ir::Binary{BinaryKind::kMax, {}}, {column, whole_zeros(op, {})}, "indices");
  const Dim found = op.shape(indices)[0];
  if (found < most) {
    indices = op.step(ir::Concat{0}, {indices, whole_zeros(op, {most - found})}, "padded");
  }
  return indices;
}

/// Which of the first entries there are, as booleans [most].
ValueId is_selected(OperatorImport& op, ValueId count, Dim most) {
  ir::Tensor positions(ElementType::kInt64, {most});
  for (Dim i = 0; i < most; ++i) positions.as<std::int64_t>()[static_cast<std::size_t>(i)] = i;
  const ValueId at = op.graph().add_constant("positions", std::move(positions));
  return op.step(ir::Binary{BinaryKind::kLess, {}}, {at, count}, "selected");
}

/// Boxes [S, 4] by scores [S]: indices [most] and their count; with_scores: scores as well.
template <bool with_scores>
void import_suppression(OperatorImport& op) {
  const ValueId boxes = op.number(0);
  const ValueId scores = op.number(1);
  const ir::Shape shape = op.shape(boxes);
  const std::vector<std::int64_t> most = op.integers(2);
  check(shape.rank() == 2 && op.shape(scores).rank() == 1 && most.size() == 1 && most[0] >= 0,
        "expected boxes [S, 4], scores [S] and a count");
  if (with_scores && number_of(op, 5) != 0) {
    fail(ErrorKind::kUnsupported, "expected a sigma of 0: scores that decay");
  }
  op.importer().charge(static_cast<std::size_t>(most[0]) * sizeof(std::int64_t));
  ir::NonMaxSuppression suppression;
  suppression.max_per_class = static_cast<std::size_t>(most[0]);
  // TFLite suppresses from the threshold on, we above it; all boxes reach 0.
  const float threshold = number_of(op, 3);
  suppression.iou_threshold = std::max(0.0F, std::nextafter(threshold, -1.0F));
  if (threshold <= 0)
    suppression.max_per_class = std::min<std::size_t>(1, suppression.max_per_class);
  suppression.score_threshold = number_of(op, 4);
  const ValueId all = op.step(suppression,
                              {op.step(ir::Reshape{{1, shape[0], shape[1]}}, {boxes}, "boxes"),
                               op.step(ir::Reshape{{1, 1, shape[0]}}, {scores}, "scores")},
                              "all");
  const ValueId column = op.step(ir::Reshape{{op.shape(all)[0]}},
                                 {op.step(ir::Slice{1, 2, 1, 1}, {all}, "column")}, "list");
  const ValueId indices = padded_indices(op, column, most[0]);
  op.emit(ir::Cast{ElementType::kInt32}, {indices}, 0);
  const ValueId count = count_of(op, column);
  if (with_scores) {
    // Scores past the last are 0.
    const ValueId taken = op.step(ir::Gather{0}, {scores, indices}, "taken");
    op.emit(ir::Where{}, {is_selected(op, count, most[0]), taken, op.scalar(0, "none")}, 1);
  }
  op.emit(ir::Cast{ElementType::kInt32}, {count}, with_scores ? 2 : 1);
}

/// The indices [count, rank] of the elements that are not zero.
void import_where(OperatorImport& op) {
  const ValueId x = op.raw(0);
  check(op.shape(x).rank() >= 1, "expected at least one axis");
  const ValueId all = op.step(ir::NonZero{}, {x}, "all");
  const ValueId line = op.step(ir::Slice{0, 0, 1, 1}, {all}, "line");
  const ir::Slice first = first_of(op, line, 1);
  op.emit(ir::Transpose{{1, 0}}, {op.step(first, {all}, "first")});
}

/// Distinct elements in the order of their first indices, and which of them each element is.
void import_unique(OperatorImport& op) {
  const ValueId x = op.numeric(0);
  check(op.shape(x).rank() == 1, "expected a vector, found " + op.shape(x).to_string());
  const ir::Unique unique{0, false, ir::UniqueResult::kFirst};
  const ValueId all = op.step(unique, {x}, "all");
  const ir::Slice first = first_of(op, all, 0);
  op.emit(ir::Gather{0}, {x, op.step(first, {all}, "first")}, 0);
  const ir::Unique inverse{0, false, ir::UniqueResult::kInverse};
  const ValueId indices = op.step(inverse, {x}, "inverse");
  const auto element = element_type(op.importer().file().tensor(op.output_tensor(1)).type());
  op.emit(ir::Cast{element.value_or(ElementType::kInt32)}, {indices}, 1);
}

constexpr ImportEntry kSelectionImports[] = {
    {OperatorCode::kWhere, import_where},
    {OperatorCode::kUnique, import_unique},
    {OperatorCode::kNonMaxSuppressionV4, import_suppression<false>},
    {OperatorCode::kNonMaxSuppressionV5, import_suppression<true>},
};

}  // namespace

std::span<const ImportEntry> selection_imports() { return kSelectionImports; }

}  // namespace halftone::formats::circle
