// SPDX-License-Identifier: Apache-2.0
// A part of a tensor replaced at indices that are computed.
#include <algorithm>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

/// The number of leading axes along which an update has fewer elements than the tensor.
std::size_t leading_axes(const ir::Shape& whole, const ir::Shape& part) {
  std::size_t count = 0;
  for (std::size_t axis = 0; axis < whole.rank(); ++axis) {
    const bool may_fit =
        ir::is_expression(whole[axis]) || (whole[axis] >= 0 && part[axis] <= whole[axis]);
    check(part[axis] == whole[axis] || (part[axis] >= 0 && may_fit),
          "an update " + part.to_string() + " of " + whole.to_string());
    if (part[axis] != whole[axis]) count = axis + 1;
  }
  return count;
}

ValueId index_constant(OperatorImport& op, const std::vector<std::int64_t>& values,
                       ir::Shape shape) {
  return op.graph().add_constant(
      "numbers", ir::Tensor::from<std::int64_t>(std::move(shape), std::span(values)));
}

/// Indices [positions, lead] of the elements of an update that begins at zero.
std::vector<std::int64_t> positions_of(const ir::Shape& part, std::size_t lead) {
  std::vector<std::int64_t> result;
  std::vector<std::int64_t> at(lead, 0);
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < lead; ++axis) count *= static_cast<std::size_t>(part[axis]);
  for (std::size_t i = 0; i < count; ++i) {
    result.insert(result.end(), at.begin(), at.end());
    for (std::size_t axis = lead; axis-- > 0;) {
      if (++at[axis] < part[axis]) break;
      at[axis] = 0;
    }
  }
  return result;
}

/// The last indices at which an update may begin, int64 [lead].
ValueId last_begins(OperatorImport& op, const ir::Shape& whole, const ir::Shape& update,
                    std::size_t lead) {
  Extents last;
  for (std::size_t axis = 0; axis < lead; ++axis) {
    last.push_back(ir::extent_of(whole[axis]) - update[axis]);
  }
  return op.importer().add_extents("last", ElementType::kInt64, last);
}

void import_update(OperatorImport& op) {
  constexpr Dim kMaxPositions = Dim{1} << 20;
  const ValueId x = op.raw(0);
  const ValueId part = op.raw(1);
  const ir::Shape whole = op.shape(x);
  const ir::Shape update = op.shape(part);
  check(whole.rank() == update.rank() && op.shape(op.raw(2)) == ir::Shape{Dim(whole.rank())},
        "expected an update with the axes of the tensor, and an index for each");
  const std::size_t lead = leading_axes(whole, update);
  if (lead == 0) return op.alias(part);
  Dim count = 1;
  for (std::size_t axis = 0; axis < lead; ++axis) {
    check((whole[axis] >= 0 || ir::is_expression(whole[axis])) && update[axis] >= 0,
          "an update along an open extent");
    count *= update[axis];
    check(count <= kMaxPositions, "an update of too many parts");
  }
  // As TensorFlow Lite has it, an update that would end past the tensor begins earlier.
  const ValueId begin = op.step(ir::Cast{ElementType::kInt64},
                                {op.step(ir::Slice{0, 0, 1, lead}, {op.raw(2)}, "begin")}, "first");
  const ValueId above =
      op.step(ir::Binary{BinaryKind::kMax, {}}, {begin, index_constant(op, {0}, {})}, "above");
  const auto axes = static_cast<Dim>(lead);
  const ValueId bounded = op.step(ir::Binary{BinaryKind::kMin, {}},
                                  {above, last_begins(op, whole, update, lead)}, "bounded");
  const std::vector<std::int64_t> positions = positions_of(update, lead);
  op.importer().charge(positions.size() * sizeof(std::int64_t));
  ValueId indices = op.step(ir::Reshape{{1, axes}}, {bounded}, "indices");
  if (count != 1) {
    indices = op.step(ir::Binary{BinaryKind::kAdd, {}},
                      {indices, index_constant(op, positions, {count, axes})}, "positions");
  }
  std::vector<Dim> rows(whole.dims().begin() + static_cast<std::ptrdiff_t>(lead),
                        whole.dims().end());
  rows.insert(rows.begin(), count);
  const ValueId updates = op.step(ir::Reshape{ir::Shape(rows)}, {part}, "updates");
  op.emit(ir::ScatterND{}, {x, indices, updates});
}

}  // namespace

void import_list_write(OperatorImport& op, const ListWrite& write) {
  const FileModel& file = op.importer().file();
  const auto system = [&file](std::size_t tensor) {
    return std::pair(file.tensor(tensor).type(), file.quantization(tensor));
  };
  const auto result = system(op.output_tensor(0));
  const bool same = system(write.list) == result && system(write.row) == result;
  const auto value = [&](std::size_t tensor) {
    return same ? op.importer().raw(tensor) : op.importer().number(tensor);
  };
  const ValueId list = value(write.list);
  const ValueId row = value(write.row);
  check(op.shape(list).rank() == op.shape(row).rank() && op.shape(list).rank() > 0,
        "expected a row with the axes of the list");
  const ValueId wide =
      op.step(ir::Cast{ElementType::kInt64}, {op.importer().raw(write.position)}, "position");
  const ValueId index = op.step(ir::Reshape{{1, 1}}, {wide}, "index");
  op.emit(ir::ScatterND{}, {list, index, row});
}

namespace {

constexpr ImportEntry kUpdateImports[] = {{OperatorCode::kDynamicUpdateSlice, import_update}};

}  // namespace

std::span<const ImportEntry> update_imports() { return kUpdateImports; }

}  // namespace halftone::formats::circle
