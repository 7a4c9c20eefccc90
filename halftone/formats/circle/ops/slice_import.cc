// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor along its axes: SLICE and STRIDED_SLICE.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/formats/extent_value.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::ValueId;

using ir::Extent;

/// The part of one axis that an operator selects.
struct Range {
  Extent begin = 0;
  std::int64_t step = 1;
  Extent count = 0;
};

using Ranges = std::vector<std::optional<Range>>;  ///< indexed by axis; nullopt: the whole axis

ir::Slice slice_of(std::size_t axis, const Range& range) {
  return {axis, static_cast<std::size_t>(ir::dim_of(range.begin)), range.step,
          static_cast<std::size_t>(ir::dim_of(range.count))};
}

/// Slices the ranges; then, if axes are dropped, reshapes to the shape without them.
void emit_slices(OperatorImport& op, ValueId x, const Ranges& ranges,
                 const std::optional<ir::Shape>& shrunk) {
  std::optional<ir::Slice> last;
  for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
    if (!ranges[axis]) continue;
    if (last) x = op.step(*last, {x}, "axis" + std::to_string(last->axis));
    last = slice_of(axis, *ranges[axis]);
  }
  if (shrunk) {
    if (last) x = op.step(*last, {x}, "axis" + std::to_string(last->axis));
    op.emit(ir::Reshape{*shrunk}, {x});
  } else if (last) {
    op.emit(*last, {x});
  } else {
    op.alias(x);
  }
}

/// A range of an axis that is not the whole.
/// @throws Error kShape if a network takes some of the samples, since it counts them then. What the
/// network computes is of all samples together.
Range part_of(OperatorImport& op, Dim extent, const Range& range) {
  const bool is_computed = has_computed(range.begin) || has_computed(range.count);
  if (ir::depends_on_batch(extent) && !is_computed) {
    op.importer().refuse_count(op.importer().file().tensor_name(op.input_tensor(0)));
  }
  return range;
}

/// Whether an extent is at least 0, as far as it is known.
bool may_be_count(const Extent& extent) { return extent.number().value_or(0) >= 0; }

void import_slice(OperatorImport& op) {
  const ValueId x = op.elements(0).front();
  const ir::Shape from = op.shape(x);
  const Extents begins = op.extents(1);
  const Extents sizes = op.extents(2);
  check(begins.size() == from.rank() && sizes.size() == from.rank(),
        "expected a begin and a size for each axis of " + from.to_string());
  Ranges ranges(from.rank());
  for (std::size_t i = 0; i < from.rank(); ++i) {
    const Extent rest = ir::extent_of(from[i]) - begins[i];
    check(may_be_count(begins[i]) && may_be_count(rest), "begin is out of range");
    const Extent size = sizes[i] == Extent(-1) ? rest : sizes[i];
    check(may_be_count(size) && may_be_count(rest - size), "size is out of range");
    if (size != ir::extent_of(from[i])) ranges[i] = part_of(op, from[i], {begins[i], 1, size});
  }
  emit_slices(op, x, ranges, std::nullopt);
}

/// begin:end:step along an axis with NumPy's semantics; masked ends are open. What the network
/// computes is never negative.
Range strided_range(const Extent& extent, const std::optional<Extent>& begin,
                    const std::optional<Extent>& end, std::int64_t step) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max();
  const Extent low = step > 0 ? 0 : -1;
  Extent high = extent + low;
  const auto bounded = [&](const Extent& index) {
    const std::int64_t number = index.number().value_or(0);
    if (number >= kFar && !extent.is_number()) return high;
    return Extent::greatest(low, Extent::least(number < 0 ? extent + index : index, high));
  };
  const Extent first = begin ? bounded(*begin) : (step > 0 ? low : high);
  const Extent last = end ? bounded(*end) : (step > 0 ? high : low);
  const std::int64_t width = std::abs(step);
  const Extent distance = Extent::greatest(0, step > 0 ? last - first : first - last);
  const Extent count = (distance + (width - 1)).over(width);
  return count == Extent(0) ? Range{} : Range{Extent::greatest(0, first), step, count};
}

bool masked(std::int32_t mask, std::size_t axis) { return axis < 31 && (mask >> axis & 1) != 0; }

/// The numbers of a STRIDED_SLICE, one for each entry of its lists.
class StridedSlice {
 public:
  explicit StridedSlice(OperatorImport& op) : op_(op), from_(op.shape(op.elements(0).front())) {
    if (const auto* options = op.options<schema::StridedSliceOptions>()) options->UnPackTo(&masks_);
    if (masks_.offset) fail(ErrorKind::kUnsupported, "ends that are distances from the begins");
    begins_ = op.extents(1);
    ends_ = op.extents(2);
    steps_ = op.integers(3);
    check(begins_.size() == ends_.size() && begins_.size() == steps_.size() &&
              begins_.size() <= FileModel::kMaxAxes,
          "expected a begin, an end and a step for the axes of " + from_.to_string());
  }

  void run() {
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      if (masked(masks_.ellipsis_mask, i)) {
        take_ellipsis(i);
      } else if (masked(masks_.new_axis_mask, i)) {
        kept_.push_back(1);
        reshapes_ = true;
      } else {
        check(axis_ < from_.rank(),
              "expected a begin, an end and a step for the axes of " + from_.to_string());
        take(i);
      }
    }
    keep_axes(from_.rank() - axis_);
    emit_slices(op_, op_.elements(0).front(), ranges_,
                reshapes_ ? std::optional(ir::Shape(std::move(kept_))) : std::nullopt);
  }

 private:
  void keep_axes(std::size_t count) {
    for (; count > 0; --count) {
      ranges_.emplace_back();
      kept_.push_back(from_[axis_++]);
    }
  }

  /// The whole of all axes that no later entry has.
  void take_ellipsis(std::size_t entry) {
    std::size_t later = 0;
    for (std::size_t i = entry + 1; i < begins_.size(); ++i) {
      check(!masked(masks_.ellipsis_mask, i), "two ellipses");
      if (!masked(masks_.new_axis_mask, i)) ++later;
    }
    check(later <= from_.rank() - axis_,
          "expected a begin, an end and a step for the axes of " + from_.to_string());
    keep_axes(from_.rank() - axis_ - later);
  }

  void take(std::size_t i) {
    const Extent extent = ir::extent_of(from_[axis_]);
    const bool shrinks = masked(masks_.shrink_axis_mask, i);
    const Range range = shrinks ? index(i, extent) : part(i, extent);
    const bool is_one = extent.is_number() && extent.number() <= 1;
    const bool is_whole = range.count == extent && (range.step == 1 || is_one);
    ranges_.push_back(is_whole ? std::nullopt : std::optional(part_of(op_, from_[axis_], range)));
    if (!shrinks) kept_.push_back(ir::dim_of(range.count));
    reshapes_ = reshapes_ || shrinks;
    ++axis_;
  }

  [[nodiscard]] std::optional<Extent> begin(std::size_t i) const {
    return masked(masks_.begin_mask, i) ? std::nullopt : std::optional(begins_[i]);
  }

  /// One index of an axis, which the result lacks.
  [[nodiscard]] Range index(std::size_t i, const Extent& extent) const {
    if (steps_[i] < 1) fail(ErrorKind::kUnsupported, "an index with a step that is not positive");
    const Extent at = begin(i).value_or(0);
    const Extent first = at.number().value_or(0) < 0 ? extent + at : at;
    check(may_be_count(first) && may_be_count(extent - first - 1), "begin is out of range");
    return {first, 1, 1};
  }

  [[nodiscard]] Range part(std::size_t i, const Extent& extent) const {
    constexpr std::int64_t kFar = std::int64_t{1} << 40;
    const auto first = begin(i);
    const auto last = masked(masks_.end_mask, i) ? std::nullopt : std::optional(ends_[i]);
    const auto is_near = [](const std::optional<Extent>& at) {
      return !at || std::abs(at->number().value_or(0)) < kFar;
    };
    check(steps_[i] != 0 && std::abs(steps_[i]) < kFar && is_near(first) && is_near(last),
          "a begin, end or step is out of range");
    return strided_range(extent, first, last, steps_[i]);
  }

  OperatorImport& op_;
  ir::Shape from_;
  schema::StridedSliceOptionsT masks_;
  Extents begins_;
  Extents ends_;
  std::vector<std::int64_t> steps_;
  std::size_t axis_ = 0;   ///< of the input, that the next entry has
  Ranges ranges_;          ///< of the axes so far
  std::vector<Dim> kept_;  ///< the shape of the result so far
  bool reshapes_ = false;  ///< whether axes are new or gone
};

void import_strided_slice(OperatorImport& op) { StridedSlice(op).run(); }

constexpr ImportEntry kSliceImports[] = {
    {OperatorCode::kSlice, import_slice},
    {OperatorCode::kStridedSlice, import_strided_slice},
};

}  // namespace

std::span<const ImportEntry> slice_imports() { return kSliceImports; }

}  // namespace halftone::formats::circle
