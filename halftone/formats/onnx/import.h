// SPDX-License-Identifier: Apache-2.0
// From the bytes of an ONNX model to a graph.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "halftone/ir/graph.h"

namespace halftone::formats {

struct OnnxOptions {
  /// Inputs of the model, by name, that always hold the same: they become constants of the graph.
  /// So an input that decides a shape (axes, a size, a number of repeats) can be imported.
  std::map<std::string, ir::Tensor> constants;
};

/// Parses, validates, builds and verifies the graph of an ONNX model of operator set 1 to 28.
///
/// - float16, bfloat16 and double become float32; integers of four bits those of eight.
/// - The first extent of an input becomes the batch if the file leaves it open (a name, no value, 0
///   or -1); other extents must be known, or carry the name of an open first extent.
/// - Branches of an If with a known condition and the model's own functions become part of the
///   graph.
/// - Arithmetic on shapes is carried out during the import, with the batch as a symbol.
/// - Weights in external files are read from `folder` and nowhere else.
/// - What the file makes grow (filled, transposed or scaled constants) is bounded by a small
///   multiple of the model's own size.
///
/// @param bytes   a whole ModelProto
/// @param folder  where the model's external data lie; empty: it may have none
/// @throws Error kUsage if the options name no input; kFormat if the bytes are no valid model
/// (also: NaN or infinity in a weight);
///         kUnsupported for a newer operator set or IR version, and with all operators that are not
///         handled, each with its nodes, in one line;
///         kShape if operands do not fit; kIo if an external file cannot be read
ir::Graph import_onnx(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                      const OnnxOptions& options = {});

}  // namespace halftone::formats
