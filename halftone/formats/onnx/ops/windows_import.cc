// SPDX-License-Identifier: Apache-2.0
// Sliding windows beside convolutions and plain pooling: norms of windows, and sums of columns.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/window.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using ir::ValueId;

constexpr std::int64_t kMaxPower = 1 << 10;

std::int64_t power_of(NodeBuilder& node) {
  const std::int64_t p = node.int_attribute("p", 2);
  if (p >= 1 && p <= kMaxPower) return p;
  fail(ErrorKind::kFormat, "p: expected a number from 1 to 1024, found " + std::to_string(p));
}

/// |x|^p and its inverse.
ValueId powered(NodeBuilder& node, ValueId x, std::int64_t p) {
  if (p == 2) return emit_unary(node, ir::ActivationKind::kSquare, x);
  x = emit_unary(node, ir::ActivationKind::kAbs, x);
  if (p == 1) return x;
  return emit_binary(node, ir::BinaryKind::kPow, x, node.add_scalar(static_cast<float>(p)));
}
ValueId root(NodeBuilder& node, ValueId x, std::int64_t p) {
  if (p == 1) return x;
  if (p == 2) return emit_unary(node, ir::ActivationKind::kSqrt, x);
  return emit_binary(node, ir::BinaryKind::kPow, x, node.add_scalar(1 / static_cast<float>(p)));
}

/// Padding of a window as zeros around an image [N, spatial.., C], and behind it for a last window
/// that would be cut off.
ValueId padded(NodeBuilder& node, ValueId x, ir::Window& window, std::span<const Dim> kernel,
               bool round_up) {
  const auto extents = ir::spatial_extents(node.type(x).shape);
  const auto counts = ir::window_counts(window, extents, kernel, round_up);
  const std::size_t rank = extents.size() + 2;
  ir::Pad pad{ir::PadMode::kConstant, std::vector<std::size_t>(rank, 0), {}};
  pad.after = pad.before;
  bool pads_nothing = true;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent reach = (ir::extent_of(counts[i]) - 1) * window.strides[i] +
                         ir::covered(kernel[i], window.dilations[i]);
    const Extent inside = ir::extent_of(extents[i]) + ir::extent_of(window.pads_before[i]);
    const Dim behind = ir::dim_of(Extent::greatest(0, reach - inside));
    pad.before[i + 1] = static_cast<std::size_t>(window.pads_before[i]);
    pad.after[i + 1] = static_cast<std::size_t>(behind);
    pads_nothing = pads_nothing && pad.before[i + 1] == 0 && behind == 0;
    window.pads_before[i] = 0;
    window.pads_after[i] = 0;
  }
  return pads_nothing ? x : node.emit(std::move(pad), {x});
}

/// (sum of |x|^p in a window)^(1/p), as a mean times the number of taps.
void build_lp_pool(NodeBuilder& node) {
  const std::int64_t p = power_of(node);
  const auto kernel = node.ints_attribute("kernel_shape");
  ValueId x = to_channels_last(node, node.input(0), "channels_last");
  const auto extents = ir::spatial_extents(node.type(x).shape);
  if (!kernel || kernel->size() != extents.size()) {
    fail(ErrorKind::kFormat, "kernel_shape: expected " + std::to_string(extents.size()) +
                                 " numbers, found " + std::to_string(kernel ? kernel->size() : 0));
  }
  ir::Window window = window_of(node, extents, *kernel);
  x = padded(node, powered(node, x, p), window, *kernel, node.int_attribute("ceil_mode", 0) != 0);
  const auto taps = static_cast<float>(ir::count_of(*kernel));
  const ValueId mean = node.emit(ir::Pool{ir::PoolKind::kAverage, *kernel, window}, {x});
  const ValueId sum = emit_binary(node, ir::BinaryKind::kMul, mean, node.add_scalar(taps));
  set_image(node, root(node, sum, p));
}

void build_global_lp_pool(NodeBuilder& node) {
  const std::int64_t p = power_of(node);
  const ValueId x = node.input(0);
  const std::size_t rank = node.type(x).shape.rank();
  if (rank < 3) fail(ErrorKind::kShape, "expected an image, found " + node.type(x).to_string());
  std::vector<std::size_t> axes = all_axes(rank);
  axes.erase(axes.begin(), axes.begin() + 2);
  const ValueId sum =
      emit_reduce(node, ir::ReduceKind::kSum, std::move(axes), true, powered(node, x, p));
  node.set_output(0, root(node, sum, p));
}

/// The elements [taps, positions] of columns that add to each element of an image.
std::vector<std::vector<std::int64_t>> columns_of(const ir::Window& window,
                                                  std::span<const Dim> image,
                                                  std::span<const Dim> kernel,
                                                  std::span<const Dim> counts) {
  const auto positions = static_cast<std::int64_t>(ir::count_of(counts));
  std::vector<std::vector<std::int64_t>> columns(ir::count_of(image));
  std::vector<ir::Tap> taps;
  for (std::int64_t at = 0; at < positions; ++at) {
    taps.clear();
    ir::find_taps(window, {image, kernel, counts}, static_cast<std::size_t>(at), taps);
    for (const ir::Tap& tap : taps) {
      columns[tap.position].push_back(static_cast<std::int64_t>(tap.tap) * positions + at);
    }
  }
  return columns;
}

std::vector<Dim> window_list(NodeBuilder& node, const char* name, std::size_t count, Dim value) {
  const auto stated = node.ints_attribute(name);
  if (!stated) return std::vector<Dim>(count, value);
  if (stated->size() == count) return *stated;
  fail(ErrorKind::kShape, std::string(name) + ": expected " + std::to_string(count) +
                              " numbers, found " + std::to_string(stated->size()));
}

ir::Window column_window(NodeBuilder& node, std::size_t rank) {
  ir::Window window = ir::plain_window(rank);
  window.strides = window_list(node, "strides", rank, 1);
  window.dilations = window_list(node, "dilations", rank, 1);
  const std::vector<Dim> pads = window_list(node, "pads", 2 * rank, 0);
  const auto half = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  window.pads_before.assign(pads.begin(), half);
  window.pads_after.assign(half, pads.end());
  ir::check_window(window, rank);
  return window;
}

/// The columns [batch, channels taps, positions] of a window that slides over an image.
struct Columns {
  std::vector<Dim> image;
  std::vector<Dim> kernel;
  ir::Window window;
  std::vector<Dim> counts;
  Dim taps = 1;
  Dim positions = 1;
  Dim channels = 1;
};

Columns stated_columns(NodeBuilder& node) {
  Columns c;
  if (const auto image = node.extents(1)) {
    for (const Extent& extent : image->values) c.image.push_back(checked_dim(extent));
  }
  c.kernel = node.numbers_input(2);
  c.window = column_window(node, c.kernel.size());
  const auto fits = [](Dim n) { return n >= 1 || ir::is_expression(n); };
  if (c.kernel.size() != c.image.size() || !std::ranges::all_of(c.image, fits)) {
    fail(ErrorKind::kShape, "expected extents of an image and of a block of equal rank");
  }
  c.counts = ir::window_counts(c.window, c.image, c.kernel);
  c.taps = static_cast<Dim>(ir::count_of(c.kernel));
  c.positions = open_product(c.counts);
  const ir::Shape shape = node.input_type(0).shape;
  if (shape.rank() != 3 || shape[1] < 1 || shape[1] % c.taps != 0 ||
      !ir::may_be_equal(shape[2], c.positions)) {
    fail(ErrorKind::kShape, "expected columns [batch, channels " + std::to_string(c.taps) + ", " +
                                ir::to_string(c.positions) + "], found " + shape.to_string());
  }
  c.channels = shape[1] / c.taps;
  return c;
}

/// The element of the padded image that each column adds to: int64 [1, 1, taps positions].
/// @param padded  extents of the image with its padding
ValueId column_elements(NodeBuilder& node, const Columns& c, const std::vector<Extent>& padded) {
  const std::size_t rank = c.kernel.size();
  const auto whole = [&](const Extent& n) { return extent_value(node, n, "extent"); };
  ValueId at = whole(0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto along = [&](std::size_t i, Dim count, Dim step) {
      const ValueId steps =
          counting_along(node, i, 2 * rank, ir::extent_of(count), ir::ElementType::kInt64);
      return emit_binary(node, ir::BinaryKind::kMul, steps, whole(step));
    };
    const ValueId row = emit_binary(node, ir::BinaryKind::kMul, at, whole(padded[axis]));
    const ValueId position = emit_binary(
        node, ir::BinaryKind::kAdd, along(axis, c.kernel[axis], c.window.dilations[axis]),
        along(rank + axis, c.counts[axis], c.window.strides[axis]));
    at = emit_binary(node, ir::BinaryKind::kAdd, row, position);
  }
  return node.reshape(at, {1, 1, checked_dim(ir::extent_of(c.positions) * c.taps)});
}

/// The image that columns of open extents add to.
ValueId added_columns(NodeBuilder& node, const Columns& c) {
  const ir::Shape shape = node.input_type(0).shape;
  const std::size_t rank = c.kernel.size();
  std::vector<Extent> padded;
  std::vector<Dim> dims = {shape[0], c.channels};
  Extent elements(1);
  for (std::size_t i = 0; i < rank; ++i) {
    padded.push_back(ir::extent_of(c.image[i]) + c.window.pads_before[i] + c.window.pads_after[i]);
    dims.push_back(checked_dim(padded[i]));
    elements = elements * padded[i];
  }
  const Dim columns = checked_dim(ir::extent_of(c.positions) * c.taps);
  const ir::Shape flat{shape[0], c.channels, columns};
  const ValueId indices =
      node.emit(ir::BroadcastTo{flat}, {column_elements(node, c, padded)}, "indices");
  const ValueId zeros = node.emit(ir::BroadcastTo{{shape[0], c.channels, checked_dim(elements)}},
                                  {node.add_scalar(0.0F)}, "zeros");
  const ValueId sums = node.emit(ir::ScatterElements{2, ir::Scatter::kAdd},
                                 {zeros, indices, node.reshape(node.input(0), flat)}, "sums");
  ValueId image = node.reshape(sums, ir::Shape(std::move(dims)));
  for (std::size_t i = 0; i < rank; ++i) {
    if (c.window.pads_before[i] == 0 && c.window.pads_after[i] == 0) continue;
    image = node.emit(ir::Slice{i + 2, static_cast<std::size_t>(c.window.pads_before[i]), 1,
                                static_cast<std::size_t>(c.image[i])},
                      {image});
  }
  return image;
}

/// Sums columns to an image: each element gathers the columns that hold it, and a zero where it has
/// fewer than others.
void build_col2im(NodeBuilder& node) {
  const Columns c = stated_columns(node);
  if (std::ranges::any_of(c.image, ir::is_expression)) {
    return node.set_output(0, added_columns(node, c));
  }
  const auto& [image, kernel, window, counts, taps, positions, channels] = c;
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const auto columns = columns_of(window, image, kernel, counts);
  std::size_t width = 1;
  for (const auto& column : columns) width = std::max(width, column.size());
  ir::Tensor indices = node.allocate(ir::ElementType::kInt64,
                                     {static_cast<Dim>(columns.size()), static_cast<Dim>(width)});
  std::ranges::fill(indices.as<std::int64_t>(), taps * positions);  // the zero behind the columns
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::ranges::copy(columns[i], indices.as<std::int64_t>().subspan(i * width).begin());
  }
  const ValueId flat = node.reshape(x, {shape[0], channels, taps * positions});
  const ValueId extended = node.emit(ir::Pad{ir::PadMode::kConstant, {0, 0, 0}, {0, 0, 1}}, {flat});
  const ValueId parts = node.emit(ir::Gather{2}, {extended, node.add_constant(std::move(indices))});
  const ValueId sums = emit_reduce(node, ir::ReduceKind::kSum, {3}, false, parts);
  std::vector<Dim> dims = {shape[0], channels};
  dims.insert(dims.end(), image.begin(), image.end());
  node.set_output(0, node.reshape(sums, ir::Shape(std::move(dims))));
}

constexpr ReaderEntry kWindowReaders[] = {
    {"", "LpPool", build_lp_pool},
    {"", "GlobalLpPool", build_global_lp_pool},
    {"", "Col2Im", build_col2im},
};

}  // namespace

std::span<const ReaderEntry> window_readers() { return kWindowReaders; }

}  // namespace halftone::formats::onnx
