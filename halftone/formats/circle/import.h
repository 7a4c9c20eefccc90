// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "halftone/formats/circle/flavor.h"
#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Reads the first subgraph of a TFLite or circle file. Nothing in the bytes is trusted: what is
/// not well formed is an error, never undefined behaviour.
///
/// Values keep their tensors' names; a node is named after the tensor it computes. Where the
/// signature of an input leads with -1, or where all inputs lead with 1 and try_symbolic_batch()
/// agrees, that extent becomes ir::kBatch; other extents are the file's. Integer operators become
/// DequantizeLinear -> float operator -> QuantizeLinear that rounds half away from zero, which
/// passes::use_integers() turns into TensorFlow Lite's integers; float16 constants become float32;
/// LQ_FULLY_CONNECTED and the custom operator HalftoneFullyConnected become Encode and
/// FullyConnected.
/// @throws Error kFormat if the file is malformed, has a cycle, or a constant that is not finite;
///         kUnsupported naming every operator that Halftone lacks; kShape if extents do not fit
ir::Graph import_circle(std::span<const std::byte> bytes);

}  // namespace halftone::formats
