// SPDX-License-Identifier: Apache-2.0
// From the bytes of an ONNX model to a graph.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Parses, validates, builds and verifies the graph of an ONNX model of operator set 1 to 28.
///
/// - float16, bfloat16 and double become float32; narrow integers the next wider type there is.
/// - The first extent of an input becomes the batch if the file leaves it open (a name, no value, 0
///   or -1); other extents must be known, or carry the name of an open first extent.
/// - Arithmetic on shapes is carried out during the import, with the batch as a symbol.
/// - Weights in external files are read from `folder` and nowhere else.
/// - What the file makes grow (filled, transposed or scaled constants) is bounded by a small
///   multiple of the model's own size.
///
/// @param bytes   a whole ModelProto
/// @param folder  where the model's external data lie; empty: it may have none
/// @throws Error kFormat if the bytes are no valid model (also: NaN or infinity in a weight);
///         kUnsupported for a newer operator set or IR version, and with all operators that are not
///         handled, each with its nodes, in one line;
///         kShape if operands do not fit; kIo if an external file cannot be read
ir::Graph import_onnx(std::span<const std::byte> bytes, const std::filesystem::path& folder);

}  // namespace halftone::formats
