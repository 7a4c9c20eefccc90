// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>

#include "halftone/base/shared_bytes.h"
#include "halftone/formats/circle/flavor.h"
#include "halftone/formats/options.h"
#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Reads the first subgraph of a TFLite or circle file. The bytes are untrusted: malformed input is
/// an error, never undefined behaviour.
///
/// Values keep their tensors' names; a node is named after the tensor it computes. The leading
/// extent of an input becomes ir::kBatch if its signature starts with -1, or if all inputs have a
/// leading extent of 1 and try_symbolic_batch() succeeds. Where a network counts, mixes or selects
/// samples, the open extent of each input becomes a symbol. Other extents are those of the file.
/// Integer operators become DequantizeLinear -> float operator -> QuantizeLinear that rounds half
/// away from zero, which passes::use_integers() turns into TensorFlow Lite's integers; a
/// DEQUANTIZE of float16 or bfloat16 becomes a Cast, other such constants become float32;
/// LQ_FULLY_CONNECTED and the custom operator HalftoneFullyConnected become Encode and
/// FullyConnected.
/// @param used  as in check_names()
/// @throws Error kUsage if the options do not fit the inputs; kFormat if the file is malformed, has
/// a cycle, or a constant that is not finite;
///         kUnsupported naming every operator that Halftone lacks; kShape if extents do not fit
ir::Graph import_circle(std::span<const std::byte> bytes, const ImportOptions& options = {},
                        std::set<std::string>* used = nullptr);
/// The same; constants are views of the file's bytes if these have an owner.
ir::Graph import_circle(SharedBytes file, const ImportOptions& options = {},
                        std::set<std::string>* used = nullptr);

/// The inputs of a file, as a graph without operators. Extents that signatures leave open beside
/// the batch become symbols (ir/extent.h).
/// @throws Error as import_circle()
ir::Graph circle_inputs(const SharedBytes& file, const ImportOptions& options);

}  // namespace halftone::formats
