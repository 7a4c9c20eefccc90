// SPDX-License-Identifier: Apache-2.0
// Conversion of ONNX's Slice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halftone/ir/extent.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/ops/layout.h"

namespace halftone::formats::onnx {

class NodeBuilder;

/// One axis of a Slice as stored in the file: its ends may be negative or out of range.
struct SliceRequest {
  std::size_t axis = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
};

/// The same with numbers that may be expressions.
struct OpenSlice {
  std::size_t axis = 0;
  ir::Extent start{};
  ir::Extent end{};
  ir::Extent step{1};
};

/// The requests of a Slice node, from its attributes (operator sets below 10) or inputs.
/// @throws Error kUnsupported if they are not known; kFormat or kShape if they are inconsistent
std::vector<OpenSlice> open_slices(NodeBuilder& node, std::size_t rank);
/// The same for ends and steps that are numbers.
std::vector<SliceRequest> slice_requests(NodeBuilder& node, std::size_t rank);

/// Applies a request to an extent: negative positions count from the end; all are clamped.
ir::Slice resolve_slice(const SliceRequest& request, ir::Dim extent);

/// The parts of an axis that have these sizes, one behind the other.
/// @throws Error kShape if they do not add up to the extent; kUnsupported for the batch
std::vector<ir::ValueId> split_parts(NodeBuilder& node, ir::ValueId x, std::size_t axis,
                                     std::span<const ir::Extent> sizes);

}  // namespace halftone::formats::onnx
