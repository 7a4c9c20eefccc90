// SPDX-License-Identifier: Apache-2.0
// Operators that put elements where indices, segments or diagonals say.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/ir/element.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

/// A constant scalar of a type.
ValueId constant_of(OperatorImport& op, ElementType element, std::int64_t number) {
  return op.graph().add_constant("number",
                                 ir::Tensor::from<std::int64_t>({}, {&number, 1}).cast(element));
}

ValueId wide_number(OperatorImport& op, std::int64_t value) {
  return constant_of(op, ElementType::kInt64, value);
}

ValueId filled(OperatorImport& op, ValueId value, ir::Shape shape) {
  return op.step(ir::BroadcastTo{std::move(shape)}, {value}, "filled");
}

ElementType element_of(OperatorImport& op, ValueId value) {
  const ir::ValueType& type = op.graph().value(value).type;
  check(type.encoding.is_dense(), "expected dense elements");
  return type.encoding.element;
}

/// The shape that an input tells.
ir::Shape wanted_shape(OperatorImport& op, std::size_t input) {
  std::vector<Dim> dims;
  for (const ir::Extent& extent : op.extents(input)) dims.push_back(ir::dim_of(extent));
  return ir::Shape(std::move(dims));
}

/// Updates are added, so that those of equal indices add up. Inputs: indices, updates, the shape.
void import_scatter_nd(OperatorImport& op) {
  const ValueId updates = op.numeric(1);
  const ElementType element = element_of(op, updates);
  const ir::Shape shape = wanted_shape(op, 2);
  const bool adds = element != ElementType::kBool;
  op.emit(ir::ScatterND{adds ? ir::Scatter::kAdd : ir::Scatter::kReplace},
          {filled(op, constant_of(op, element, 0), shape), op.raw(0), updates});
}

/// Inputs: indices [n, rank], [n] or one; the shape; values [n] or one; the value elsewhere.
void import_sparse_to_dense(OperatorImport& op) {
  const ir::Shape shape = wanted_shape(op, 1);
  ValueId indices = op.raw(0);
  const ir::Shape found = op.shape(indices);
  check(found.rank() <= 2, "expected indices of at most two axes, found " + found.to_string());
  const Dim count = found.rank() == 0 ? 1 : found[0];
  if (found.rank() < 2) indices = op.step(ir::Reshape{{count, 1}}, {indices}, "indices");
  const ValueId values = filled(op, op.numeric(2), {count});
  op.emit(ir::ScatterND{ir::Scatter::kReplace},
          {filled(op, op.numeric(3), shape), indices, values});
}

/// The shape of the segments of data whose leading axes are those of the indices.
ir::Shape segments_shape(const ir::Shape& data, std::size_t leading, Dim count) {
  std::vector<Dim> dims(data.dims().begin() + static_cast<std::ptrdiff_t>(leading),
                        data.dims().end());
  dims.insert(dims.begin(), count);
  return ir::Shape(std::move(dims));
}

/// Indices as [.., 1], for a ScatterND along the first axis.
ValueId as_rows(OperatorImport& op, ValueId indices) {
  std::vector<Dim> dims(op.shape(indices).dims().begin(), op.shape(indices).dims().end());
  dims.push_back(1);
  return op.step(ir::Reshape{ir::Shape(std::move(dims))}, {indices}, "rows");
}

/// Sums of the rows of each segment. Indices ascend, so that the last one tells the count.
void import_segment_sum(OperatorImport& op) {
  const ValueId x = op.numeric(0);
  const ValueId indices = op.raw(1);
  const ir::Shape rows = op.shape(indices);
  check(rows.rank() == 1 && rows[0] != 0 && op.shape(x).rank() >= 1 && op.shape(x)[0] == rows[0],
        "expected a segment for each row of " + op.shape(x).to_string());
  if (ir::depends_on_batch(rows[0])) fail(ErrorKind::kShape, "sums of samples");
  const auto begin = static_cast<std::size_t>(ir::dim_of(ir::extent_of(rows[0]) - 1));
  ValueId last = op.step(ir::Slice{0, begin, 1, 1}, {indices}, "last");
  last = op.step(ir::Cast{ElementType::kInt64}, {last}, "wide");
  const ValueId number =
      op.step(ir::Binary{BinaryKind::kAdd, {}}, {last, wide_number(op, 1)}, "count");
  const Dim count = ir::dim_of(op.importer().extent(number, 0));
  check(op.graph().constant(number) == nullptr || count > 0, "a segment is negative");
  const ValueId zeros =
      filled(op, constant_of(op, element_of(op, x), 0), segments_shape(op.shape(x), 1, count));
  op.emit(ir::ScatterND{ir::Scatter::kAdd}, {zeros, as_rows(op, indices), x});
}

/// What a segment without elements has.
ValueId neutral(OperatorImport& op, ElementType element, ir::Scatter reduction) {
  if (reduction == ir::Scatter::kAdd) return constant_of(op, element, 0);
  if (reduction == ir::Scatter::kMul) return constant_of(op, element, 1);
  check(element != ElementType::kBool, "expected numbers");
  ir::Tensor tensor(element, ir::Shape{});
  ir::with_element(element, [&](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    tensor.as<decltype(zero)>()[0] =
        reduction == ir::Scatter::kMax ? Limits::lowest() : Limits::max();
  });
  return op.graph().add_constant("neutral", std::move(tensor));
}

/// Rows by segment; those of negative segments go to one that is cut off.
template <ir::Scatter reduction>
void import_unsorted_segments(OperatorImport& op) {
  const ValueId x = op.numeric(0);
  const std::vector<std::int64_t> counts = op.integers(2);
  check(counts.size() == 1 && counts[0] >= 0, "expected a count of segments");
  const Dim count = counts[0];
  const std::size_t leading = op.shape(op.raw(1)).rank();
  check(leading <= op.shape(x).rank(), "expected segments of the leading axes");
  const ValueId wide = op.step(ir::Cast{ElementType::kInt64}, {op.raw(1)}, "wide");
  const ValueId is_none =
      op.step(ir::Binary{BinaryKind::kLess, {}}, {wide, wide_number(op, 0)}, "is none");
  const ValueId segments =
      op.step(ir::Where{}, {is_none, wide_number(op, count), wide}, "segments");
  const ValueId initial = filled(op, neutral(op, element_of(op, x), reduction),
                                 segments_shape(op.shape(x), leading, count + 1));
  const ValueId all = op.step(ir::ScatterND{reduction}, {initial, as_rows(op, segments), x}, "all");
  op.emit(ir::Slice{0, 0, 1, static_cast<std::size_t>(count)}, {all});
}

/// A boolean matrix that is true on its diagonal.
ValueId diagonal(OperatorImport& op, Dim rows, Dim cols) {
  constexpr Dim kMax = Dim{1} << 24;
  check(rows >= 0 && cols >= 0, "expected known extents of the matrix");
  check(rows == 0 || cols <= kMax / rows, "expected a matrix of at most 2^24 elements");
  op.importer().charge(static_cast<std::size_t>(rows * cols));
  ir::Tensor matrix(ElementType::kBool, {rows, cols});
  for (Dim i = 0; i < std::min(rows, cols); ++i) {
    matrix.as<std::uint8_t>()[static_cast<std::size_t>(i * cols + i)] = 1;
  }
  return op.graph().add_constant("diagonal", std::move(matrix));
}

/// Vectors [.., k] as [.., 1, k].
ValueId as_line(OperatorImport& op, ValueId vectors) {
  std::vector<Dim> dims(op.shape(vectors).dims().begin(), op.shape(vectors).dims().end());
  dims.insert(dims.end() - 1, 1);
  return op.step(ir::Reshape{ir::Shape(std::move(dims))}, {vectors}, "line");
}

void import_matrix_diag(OperatorImport& op) {
  const ValueId x = op.numeric(0);
  check(op.shape(x).rank() >= 1, "expected at least one axis");
  const Dim extent = op.shape(x).back();
  op.emit(ir::Where{},
          {diagonal(op, extent, extent), as_line(op, x), constant_of(op, element_of(op, x), 0)});
}

void import_matrix_set_diag(OperatorImport& op) {
  const ValueId x = op.numeric(0);
  ValueId entries = op.numeric(1);
  const ir::Shape shape = op.shape(x);
  check(shape.rank() >= 2 && op.shape(entries).rank() + 1 == shape.rank(),
        "expected matrices and a diagonal of each");
  const Dim cols = shape.back();
  const ValueId on = diagonal(op, shape[shape.rank() - 2], cols);
  const Dim missing = cols - op.shape(entries).back();
  check(missing >= 0 && op.shape(entries).back() == std::min(shape[shape.rank() - 2], cols),
        "the diagonals do not fit " + shape.to_string());
  if (missing > 0) {
    ir::Pad pad{ir::PadMode::kConstant, std::vector<std::size_t>(shape.rank() - 1, 0),
                std::vector<std::size_t>(shape.rank() - 1, 0)};
    pad.after.back() = static_cast<std::size_t>(missing);
    entries = op.step(std::move(pad), {entries}, "padded");
  }
  op.emit(ir::Where{}, {on, as_line(op, entries), x});
}

constexpr ImportEntry kScatterImports[] = {
    {OperatorCode::kScatterNd, import_scatter_nd},
    {OperatorCode::kSparseToDense, import_sparse_to_dense},
    {OperatorCode::kSegmentSum, import_segment_sum},
    {OperatorCode::kUnsortedSegmentSum, import_unsorted_segments<ir::Scatter::kAdd>},
    {OperatorCode::kUnsortedSegmentProd, import_unsorted_segments<ir::Scatter::kMul>},
    {OperatorCode::kUnsortedSegmentMax, import_unsorted_segments<ir::Scatter::kMax>},
    {OperatorCode::kUnsortedSegmentMin, import_unsorted_segments<ir::Scatter::kMin>},
    {OperatorCode::kMatrixDiag, import_matrix_diag},
    {OperatorCode::kMatrixSetDiag, import_matrix_set_diag},
};

}  // namespace

std::span<const ImportEntry> scatter_imports() { return kScatterImports; }

}  // namespace halftone::formats::circle
