// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/ops/window.h"

namespace halftone::formats::onnx {

class NodeBuilder;

/// The strides, dilations and pads that a node states for its kernel_shape.
/// @throws Error kFormat without a kernel_shape; kShape if the lists do not fit it
ir::Window stated_window(NodeBuilder& node);

}  // namespace halftone::formats::onnx
