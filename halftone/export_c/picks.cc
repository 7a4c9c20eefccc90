// SPDX-License-Identifier: Apache-2.0
// Operators that choose elements by lists of indices, or interpolate between them.
#include <array>
#include <numeric>
#include <optional>
#include <vector>

#include "halftone/export_c/write_layers.h"
#include "halftone/ir/ops/extend.h"
#include "halftone/ir/ops/indexing.h"
#include "halftone/ir/ops/resample.h"
#include "halftone/ir/strides.h"

namespace halftone::export_c {
namespace {

/// Which index of the input each index of an axis of the output has.
using AxisPicks = std::vector<std::vector<std::int32_t>>;

AxisPicks all_of(const ir::Shape& shape) {
  AxisPicks picks;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    picks.emplace_back(static_cast<std::size_t>(shape[i]));
    std::iota(picks.back().begin(), picks.back().end(), 0);
  }
  return picks;
}

bool is_whole(const std::vector<std::int32_t>& picks, ir::Dim extent) {
  if (static_cast<ir::Dim>(picks.size()) != extent) return false;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (picks[i] != static_cast<std::int32_t>(i)) return false;
  }
  return true;
}

/// Writes y[i, j, ...] = x[picks[0][i], picks[1][j], ...]. Axes that are whole from one on to the
/// last are an element; neighbours of others are joined while there are more than three.
/// @param x  the shape of the input
void write_pick(Scope& scope, const ir::Shape& x, AxisPicks picks) {
  constexpr std::size_t kPickAxes = 3;
  if (scope.constant(0) != nullptr) scope.refuse("an input that is constant");
  if (!scope.input(0).encoding.is_dense()) scope.refuse("codes of few bits");
  if (scope.output().shape.element_count() == 0) scope.refuse("an empty output");
  auto bytes = static_cast<std::int32_t>(ir::size_bytes(scope.input(0).encoding.element));
  const std::vector<std::size_t> steps = ir::row_major_strides(x);
  const std::int32_t element = bytes;
  while (!picks.empty() && is_whole(picks.back(), x[picks.size() - 1])) {
    bytes *= static_cast<std::int32_t>(x[picks.size() - 1]);
    picks.pop_back();
  }
  std::vector<std::vector<std::int32_t>> lists;  // of bytes
  for (std::size_t i = 0; i < picks.size(); ++i) {
    std::vector<std::int32_t> list;
    for (const std::int32_t at : picks[i]) {
      list.push_back(at * static_cast<std::int32_t>(steps[i]) * element);
    }
    if (lists.size() < kPickAxes && !(lists.size() == 1 && lists[0].size() == 1)) {
      lists.push_back(std::move(list));
      continue;
    }
    std::vector<std::int32_t> joined;
    for (const std::int32_t outer : lists.back()) {
      for (const std::int32_t inner : list) joined.push_back(outer + inner);
    }
    lists.back() = std::move(joined);
  }
  lists.insert(lists.begin(), kPickAxes - lists.size(), {0});
  scope.reads("x", 0);
  scope.writes("y");
  std::string extents;
  std::string names;
  for (std::size_t i = 0; i < kPickAxes; ++i) {
    extents = i == 0 ? std::to_string(lists[i].size()) : arguments(extents, lists[i].size());
    names += ", " + scope.array<std::int32_t>("at_" + std::to_string(i), lists[i]);
  }
  scope.line("static const int32_t extents[3] = {" + extents + "};");
  scope.call("pick", "x, extents" + names + ", y, " + std::to_string(bytes));
}

void write_gather(Scope& scope, const ir::Gather& op) {
  const ir::Constant* constant = scope.constant(1);
  if (constant == nullptr) scope.refuse("indices that are computed");
  const ir::Tensor indices = std::get<ir::Tensor>(*constant).cast(ir::ElementType::kInt64);
  AxisPicks picks = all_of(scope.input(0).shape);
  picks[op.axis].clear();
  for (const std::int64_t index : indices.as<std::int64_t>()) {
    const auto extent = static_cast<std::size_t>(scope.input(0).shape[op.axis]);
    picks[op.axis].push_back(static_cast<std::int32_t>(ir::resolve_index(index, extent)));
  }
  write_pick(scope, scope.input(0).shape, std::move(picks));
}

void write_mirrored_pad(Scope& scope, const ir::Pad& op) {
  AxisPicks picks = all_of(scope.input(0).shape);
  for (std::size_t axis = 0; axis < picks.size(); ++axis) {
    const std::int64_t extent = scope.input(0).shape[axis];
    picks[axis].clear();
    for (std::int64_t i = 0; i < scope.output().shape[axis]; ++i) {
      const std::int64_t at = i - static_cast<std::int64_t>(op.before[axis]);
      picks[axis].push_back(static_cast<std::int32_t>(ir::padded_index(op.mode, at, extent)));
    }
  }
  write_pick(scope, scope.input(0).shape, std::move(picks));
}

/// Index i of the output is index i modulo the extent: of Tile, and of BroadcastTo.
void write_repeats(Scope& scope) {
  const ir::Shape& y = scope.output().shape;
  std::vector<ir::Dim> dims(scope.input(0).shape.dims().begin(), scope.input(0).shape.dims().end());
  dims.insert(dims.begin(), y.rank() - dims.size(), 1);
  const ir::Shape x(std::move(dims));
  AxisPicks picks = all_of(x);
  for (std::size_t axis = 0; axis < picks.size(); ++axis) {
    picks[axis].clear();
    for (ir::Dim i = 0; i < y[axis]; ++i) {
      picks[axis].push_back(static_cast<std::int32_t>(i % x[axis]));
    }
  }
  write_pick(scope, x, std::move(picks));
}

void write_resize(Scope& scope, const ir::Resize& op) {
  if (scope.output().shape.element_count() == 0) scope.refuse("an empty output");
  const ir::AxisView view = ir::axis_view(scope.input(0).shape, op.axis);
  const ir::ResizeTaps taps = ir::resize_taps(op, view.extent);
  const bool picks =
      op.mode == ir::Interpolation::kNearest && op.coordinates != ir::Coordinates::kCropAndResize;
  if (picks) {
    AxisPicks all = all_of(scope.input(0).shape);
    all[op.axis].assign(taps.indices.begin(), taps.indices.end());
    return write_pick(scope, scope.input(0).shape, std::move(all));
  }
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  std::vector<std::int16_t> indices;
  for (std::size_t i = 0; i < taps.indices.size(); ++i) {
    const bool is_outside = taps.outside[i / taps.width] != 0;
    indices.push_back(is_outside ? -1 : static_cast<std::int16_t>(taps.indices[i]));
  }
  if (view.extent > INT16_MAX) scope.refuse("more than 32767 elements along an axis");
  scope.reads("x", 0);
  scope.writes("y");
  const std::string at = scope.array<std::int16_t>("indices", indices);
  const std::string w = scope.array<float>("weights", taps.weights);
  scope.call("resize_f32", arguments("x", view.outer, view.extent, view.inner, op.count, taps.width,
                                     at, w, exact(op.extrapolation), "y"));
}

}  // namespace

bool write_picks(Scope& scope) {
  if (const auto* gather = scope.op<ir::Gather>()) {
    write_gather(scope, *gather);
  } else if (const auto* pad = scope.op<ir::Pad>()) {
    write_mirrored_pad(scope, *pad);
  } else if (const auto* resize = scope.op<ir::Resize>()) {
    write_resize(scope, *resize);
  } else if (scope.op<ir::Tile>() != nullptr || scope.op<ir::BroadcastTo>() != nullptr) {
    write_repeats(scope);
  } else {
    return false;
  }
  return true;
}

}  // namespace halftone::export_c
