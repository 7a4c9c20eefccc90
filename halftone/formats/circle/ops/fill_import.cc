// SPDX-License-Identifier: Apache-2.0
// Operators whose results depend on shapes and few integers rather than on data, and those that
// spread elements.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

void import_rank(OperatorImport& op) {
  const auto rank = static_cast<std::int32_t>(op.shape(op.raw(0)).rank());
  op.alias(op.graph().add_constant("rank", ir::Tensor::from<std::int32_t>({}, {&rank, 1})));
}

void import_zeros_like(OperatorImport& op) {
  const ir::ValueType type = op.graph().value(op.raw(0)).type;
  check(type.encoding.is_dense(), "expected dense elements");
  const ValueId zero =
      op.graph().add_constant("zero", ir::Tensor(type.encoding.element, ir::Shape{}));
  op.emit(ir::BroadcastTo{type.shape}, {zero});
}

constexpr double kMaxCount = 1 << 24;

template <typename T>
ir::Tensor counted(OperatorImport& op, const std::array<const ir::Tensor*, 3>& ends) {
  const T start = ends[0]->as<T>()[0];
  const T limit = ends[1]->as<T>()[0];
  const T step = ends[2]->as<T>()[0];
  check(step != 0, "expected a step other than 0");
  using Wide = std::conditional_t<std::is_same_v<T, float>, float, double>;
  const Wide exact =
      (static_cast<Wide>(limit) - static_cast<Wide>(start)) / static_cast<Wide>(step);
  const double count = std::max(0.0, std::ceil(static_cast<double>(exact)));
  check(count <= kMaxCount, "expected at most 2^24 elements");
  op.importer().charge(static_cast<std::size_t>(count) * sizeof(T));
  ir::Tensor result(ends[0]->element(), {static_cast<Dim>(count)});
  T value = start;
  for (T& element : result.as<T>()) {
    element = value;
    value = static_cast<T>(value + step);
  }
  return result;
}

/// start, start + step, ... below the limit, all of which are constants.
ir::Tensor constant_range(OperatorImport& op) {
  std::array<const ir::Tensor*, 3> ends = {};
  for (std::size_t i = 0; i < 3; ++i) {
    ends[i] = &std::get<ir::Tensor>(*op.graph().constant(op.raw(i)));
    check(ends[i]->size() == 1 && ends[i]->element() == ends[0]->element(),
          "expected three numbers of one type");
  }
  const ElementType element = ends[0]->element();
  if (element == ElementType::kFloat32) return counted<float>(op, ends);
  if (element == ElementType::kInt32) return counted<std::int32_t>(op, ends);
  if (element == ElementType::kInt64) return counted<std::int64_t>(op, ends);
  fail(ErrorKind::kUnsupported, "expected float32 or integers of 32 or 64 bits");
}

/// The same with a start or limit that the network computes: its count becomes an extent.
void import_open_range(OperatorImport& op) {
  const ElementType element = op.graph().value(op.raw(1)).type.encoding.element;
  if (element != ElementType::kInt32 && element != ElementType::kInt64) {
    fail(ErrorKind::kUnsupported,
         "ends that the network computes: expected integers of 32 or 64 "
         "bits");
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (op.importer().counts_samples(op.raw(i))) {
      op.importer().refuse_count(op.graph().value(op.raw(i)).name);
    }
  }
  const std::vector<std::int64_t> found = op.integers(2);
  check(found.size() == 1, "expected one number");
  const std::int64_t step = found[0];
  if (step < 1) fail(ErrorKind::kUnsupported, "expected a step of at least 1");
  const auto whole = [&](std::int64_t value) {
    return op.graph().add_constant("number", ir::Tensor::from<std::int64_t>({}, {&value, 1}));
  };
  const auto end = [&](std::size_t i, const std::string& name) {
    const ValueId one = op.step(ir::Reshape{{}}, {op.raw(i)}, name);
    return op.step(ir::Cast{ElementType::kInt64}, {one}, name + "/wide");
  };
  const auto binary = [&](BinaryKind kind, ValueId a, ValueId b, const char* name) {
    return op.step(ir::Binary{kind, {}}, {a, b}, name);
  };
  const ValueId start = end(0, "start");
  const ValueId rest = binary(BinaryKind::kSub, end(1, "limit"), start, "rest");
  const ValueId length = binary(BinaryKind::kMax, rest, whole(0), "length");
  const ValueId rounded = binary(BinaryKind::kAdd, length, whole(step - 1), "rounded");
  const Dim count =
      ir::dim_of(op.importer().extent(binary(BinaryKind::kDiv, rounded, whole(step), "count"), 0));
  const ValueId steps = op.step(ir::BroadcastTo{{count}}, {whole(step)}, "steps");
  const ValueId sums = op.step(ir::CumSum{0, true, false}, {steps}, "sums");
  op.emit(ir::Cast{element}, {binary(BinaryKind::kAdd, sums, start, "numbers")});
}

void import_range(OperatorImport& op) {
  if (op.is_computed(0) || op.is_computed(1) || op.is_computed(2)) return import_open_range(op);
  op.alias(op.graph().add_constant("range", constant_range(op)));
}

/// The shape that two shapes broadcast to.
void import_broadcast_args(OperatorImport& op) {
  auto longer = op.importer().known_extents(op.raw(0));
  auto other = op.importer().known_extents(op.raw(1));
  if (!longer || !other) {
    fail(ErrorKind::kUnsupported, "expected shapes that do not depend on data");
  }
  if (longer->size() < other->size()) longer->swap(*other);
  for (std::size_t i = 0; i < other->size(); ++i) {
    ir::Extent& extent = (*longer)[longer->size() - other->size() + i];
    const ir::Extent& wanted = (*other)[i];
    check(extent == wanted || extent == ir::Extent(1) || wanted == ir::Extent(1),
          "the shapes do not broadcast");
    if (extent == ir::Extent(1)) extent = wanted;
  }
  op.emit_extents(*longer);
}

void import_reverse_sequence(OperatorImport& op) {
  const auto* options = op.options<schema::ReverseSequenceOptions>();
  check(options != nullptr, "has no options");
  const ValueId x = op.elements(0).front();
  const std::size_t rank = op.shape(x).rank();
  op.emit(ir::ReverseSequence{ir::normalized_axis(options->batch_dim(), rank),
                              ir::normalized_axis(options->seq_dim(), rank)},
          {x, op.raw(1)});
}

/// Elements at distances, with a value between them. Inputs: x, the distances, the value.
void import_dilate(OperatorImport& op) {
  ValueId x = op.numeric(0);
  const std::vector<std::int64_t> distances = op.integers(1);
  const ValueId value = op.step(ir::Reshape{{}}, {op.numeric(2)}, "value");
  const ir::Shape shape = op.shape(x);
  check(distances.size() == shape.rank(), "expected a distance for each axis");
  std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const Dim distance = distances[axis];
    constexpr Dim kFar = Dim{1} << 20;
    check(distance >= 1 && distance <= kFar, "a distance is out of range");
    if (distance == 1) continue;
    if (dims[axis] < 1) fail(ErrorKind::kShape, "expected a known extent to dilate");
    const auto at = static_cast<std::ptrdiff_t>(axis) + 1;
    std::vector<Dim> split = dims;
    split.insert(split.begin() + at, 1);
    ir::Pad pad{ir::PadMode::kConstant, std::vector<std::size_t>(split.size(), 0),
                std::vector<std::size_t>(split.size(), 0)};
    pad.after[axis + 1] = static_cast<std::size_t>(distance - 1);
    x = op.step(ir::Reshape{ir::Shape(std::move(split))}, {x}, "split");
    x = op.step(std::move(pad), {x, value}, "spread");
    dims[axis] *= distance;
    x = op.step(ir::Reshape{ir::Shape(dims)}, {x}, "joined");
    dims[axis] -= distance - 1;
    x = op.step(ir::Slice{axis, 0, 1, static_cast<std::size_t>(dims[axis])}, {x}, "cut");
  }
  op.alias(x);
}

constexpr ImportEntry kFillImports[] = {
    {OperatorCode::kRank, import_rank},
    {OperatorCode::kZerosLike, import_zeros_like},
    {OperatorCode::kRange, import_range},
    {OperatorCode::kBroadcastArgs, import_broadcast_args},
    {OperatorCode::kReverseSequence, import_reverse_sequence},
    {OperatorCode::kDilate, import_dilate},
};

}  // namespace

std::span<const ImportEntry> fill_imports() { return kFillImports; }

}  // namespace halftone::formats::circle
