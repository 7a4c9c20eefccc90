// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor along its axes: SLICE and STRIDED_SLICE.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::ValueId;

/// The part of one axis that an operator selects.
struct Range {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

using Ranges = std::vector<std::optional<Range>>;  ///< indexed by axis; nullopt: the whole axis

ir::Slice slice_of(std::size_t axis, const Range& range) {
  return {axis, static_cast<std::size_t>(range.begin), range.step,
          static_cast<std::size_t>(range.count)};
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

/// A range of extents that only a run tells.
std::optional<Range> open_range(Dim extent, Dim begin, Dim size) {
  if (begin == 0 && (size == -1 || size == extent)) return std::nullopt;
  check(begin >= 0 || ir::is_expression(begin), "begin is out of range");
  if (size == -1) {
    size = ir::dim_of(ir::extent_of(extent) - ir::extent_of(begin));
  }
  check(size >= 0 || ir::is_expression(size), "size is out of range");
  return Range{begin, 1, size};
}

/// A range of an axis that is not the whole.
/// @throws Error kShape if the axis is the batch, since a network that takes some samples counts
/// them
Range part_of(OperatorImport& op, Dim extent, const Range& range) {
  if (ir::is_batch(extent)) {
    op.importer().refuse_count(op.importer().file().tensor_name(op.input_tensor(0)));
  }
  return range;
}

void import_slice(OperatorImport& op) {
  const ValueId x = op.elements(0).front();
  const ir::Shape from = op.shape(x);
  const std::vector<Dim> begins = op.positions(1);
  const std::vector<Dim> sizes = op.positions(2);
  check(begins.size() == from.rank() && sizes.size() == from.rank(),
        "expected a begin and a size for each axis of " + from.to_string());
  Ranges ranges(from.rank());
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (ir::is_expression(from[i]) || ir::is_expression(begins[i]) || ir::is_expression(sizes[i])) {
      ranges[i] = open_range(from[i], begins[i], sizes[i]);
      continue;
    }
    const Dim extent = OperatorImport::whole_extent(from[i]);
    check(begins[i] >= 0 && begins[i] <= extent, "begin is out of range");
    const std::int64_t size = sizes[i] == -1 ? extent - begins[i] : sizes[i];
    check(size >= 0 && size <= extent - begins[i], "size is out of range");
    if (size != extent) ranges[i] = part_of(op, from[i], {begins[i], 1, size});
  }
  emit_slices(op, x, ranges, std::nullopt);
}

/// begin:end:step along an axis with NumPy's semantics; masked ends are open.
Range strided_range(std::int64_t extent, std::optional<std::int64_t> begin,
                    std::optional<std::int64_t> end, std::int64_t step) {
  const auto bounded = [&](std::int64_t index) {
    if (index < 0) index += extent;
    return step > 0 ? std::clamp<std::int64_t>(index, 0, extent)
                    : std::clamp<std::int64_t>(index, -1, extent - 1);
  };
  const std::int64_t first = begin ? bounded(*begin) : (step > 0 ? 0 : extent - 1);
  const std::int64_t last = end ? bounded(*end) : (step > 0 ? extent : -1);
  const std::int64_t distance = step > 0 ? last - first : first - last;
  const std::int64_t width = step > 0 ? step : -step;
  const std::int64_t count = distance <= 0 ? 0 : (distance - 1) / width + 1;
  return {count == 0 ? 0 : first, count == 0 ? 1 : step, count};
}

bool masked(std::int32_t mask, std::size_t axis) { return axis < 31 && (mask >> axis & 1) != 0; }

/// begin:end along an axis where one of the three is known at run time only; never negative then.
Range open_strided_range(Dim extent, std::optional<Dim> begin, std::optional<Dim> end) {
  const ir::Extent n = ir::extent_of(extent);
  const auto position = [&](Dim at) {
    const bool from_end = at < 0 && !ir::is_expression(at);
    const ir::Extent index = from_end ? n + ir::Extent(at) : ir::extent_of(at);
    return ir::Extent::greatest(0, ir::Extent::least(index, n));
  };
  const ir::Extent first = begin ? position(*begin) : 0;
  const ir::Extent last = end ? position(*end) : n;
  return {ir::dim_of(first), 1, ir::dim_of(ir::Extent::greatest(first, last) - first)};
}

/// The numbers of a STRIDED_SLICE, one for each entry of its lists.
class StridedSlice {
 public:
  explicit StridedSlice(OperatorImport& op) : op_(op), from_(op.shape(op.elements(0).front())) {
    if (const auto* options = op.options<schema::StridedSliceOptions>()) options->UnPackTo(&masks_);
    if (masks_.offset) fail(ErrorKind::kUnsupported, "ends that are distances from the begins");
    begins_ = op.positions(1);
    ends_ = op.positions(2);
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
    const Dim open = from_[axis_];
    const Dim extent = OperatorImport::whole_extent(open);
    const bool shrinks = masked(masks_.shrink_axis_mask, i);
    const Range range = shrinks ? index(i, extent) : part(i, extent);
    const bool is_whole = range.count == extent && (range.step == 1 || extent <= 1);
    ranges_.push_back(is_whole ? std::nullopt : std::optional(part_of(op_, open, range)));
    if (!shrinks) kept_.push_back(is_whole ? from_[axis_] : static_cast<Dim>(range.count));
    reshapes_ = reshapes_ || shrinks;
    ++axis_;
  }

  [[nodiscard]] std::optional<Dim> begin(std::size_t i) const {
    return masked(masks_.begin_mask, i) ? std::nullopt : std::optional(begins_[i]);
  }
  [[nodiscard]] static bool is_open(const std::optional<Dim>& at) {
    return at && ir::is_expression(*at);
  }

  /// One index of an axis, which the result lacks.
  [[nodiscard]] Range index(std::size_t i, Dim extent) const {
    if (steps_[i] < 1) fail(ErrorKind::kUnsupported, "an index with a step that is not positive");
    const Dim at = begin(i).value_or(0);
    if (ir::is_expression(at)) return {at, 1, 1};
    if (ir::is_expression(extent)) {
      return {at < 0 ? ir::dim_of(ir::extent_of(extent) + ir::Extent(at)) : at, 1, 1};
    }
    const Dim first = at < 0 ? at + extent : at;
    check(first >= 0 && first < extent, "begin is out of range");
    return {first, 1, 1};
  }

  [[nodiscard]] Range part(std::size_t i, Dim extent) const {
    constexpr std::int64_t kFar = std::int64_t{1} << 40;
    const auto first = begin(i);
    const auto last = masked(masks_.end_mask, i) ? std::nullopt : std::optional(ends_[i]);
    const auto is_near = [](const std::optional<Dim>& at) {
      return !at || ir::is_expression(*at) || std::abs(*at) < kFar;
    };
    check(steps_[i] != 0 && std::abs(steps_[i]) < kFar && is_near(first) && is_near(last),
          "a begin, end or step is out of range");
    const bool opens = ir::is_expression(extent) || is_open(first) || is_open(last);
    if (opens && steps_[i] != 1) {
      fail(ErrorKind::kUnsupported, "ends that the network computes: expected steps of 1");
    }
    if (opens) return open_strided_range(extent, first, last);
    return strided_range(extent, first, last, steps_[i]);
  }

  OperatorImport& op_;
  ir::Shape from_;
  schema::StridedSliceOptionsT masks_;
  std::vector<Dim> begins_;
  std::vector<Dim> ends_;
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
