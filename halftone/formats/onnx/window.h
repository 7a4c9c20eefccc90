// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "halftone/ir/graph.h"
#include "halftone/ir/ops/window.h"

namespace halftone::formats::onnx {

class NodeBuilder;

/// The window of a node as its attributes say it, auto_pad included.
/// @throws Error kFormat, kShape or kUnsupported if they do not fit or say nothing
ir::Window window_of(NodeBuilder& node, std::span<const ir::Dim> extents,
                     std::span<const ir::Dim> kernel);
/// @throws Error kShape unless kernel_shape is absent or the kernel's extents
void check_kernel_shape(NodeBuilder& node, std::span<const ir::Dim> kernel);
/// [N, C, spatial...] as [N, spatial..., C]. @throws Error kShape for less than three axes
ir::ValueId to_channels_last(NodeBuilder& node, ir::ValueId id, const std::string& role);
/// Sets output 0 to an image, channels first again.
void set_image(NodeBuilder& node, ir::ValueId image);

/// The strides, dilations and pads that a node states for its kernel_shape.
/// @throws Error kFormat without a kernel_shape; kShape if the lists do not fit it
ir::Window stated_window(NodeBuilder& node);

}  // namespace halftone::formats::onnx
