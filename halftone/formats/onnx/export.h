// SPDX-License-Identifier: Apache-2.0
// Export of a graph as an ONNX model.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/formats/export_options.h"
#include "halftone/ir/graph.h"

namespace halftone::onnx_pb {
class ModelProto;
}  // namespace halftone::onnx_pb

namespace halftone::formats {

/// Writes a graph as an ONNX model: operator set 17, or the lowest later one that has every
/// operator used. Fused activations become separate nodes. A fully connected layer in a basis
/// becomes the operator FullyConnected of the domain "ai.halftone" (see README.md in this folder).
/// Equal graphs give equal bytes.
/// @param options  if they ask for the standard form, the graph must be standard_form() of one
/// @throws Error kUnsupported, listing all nodes that ONNX has no operator for, in one line;
///         kFormat or kShape if ir::verify() rejects the graph
std::vector<std::byte> export_onnx(const ir::Graph& graph, const ExportOptions& options = {});

/// The same before it becomes bytes.
/// @throws Error as export_onnx()
std::shared_ptr<onnx_pb::ModelProto> onnx_model(const ir::Graph& graph,
                                                const ExportOptions& options = {});
/// The names of the recurrent layers of floats that ONNX has no operator for: they become operators
/// of Halftone's domain, which other runtimes lack.
std::vector<std::string> own_float_layers(const ir::Graph& graph);
/// The bytes of a model.
/// @throws Error as export_onnx(); kUnsupported beyond 2 GiB, protobuf's limit
std::vector<std::byte> onnx_bytes(const onnx_pb::ModelProto& model);
/// Appends the bytes of a model to a file, without a copy of them all in memory.
/// @throws Error kIo as NewFile::append()
void append_onnx(const onnx_pb::ModelProto& model, NewFile& file);

}  // namespace halftone::formats
