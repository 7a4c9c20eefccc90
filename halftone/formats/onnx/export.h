// SPDX-License-Identifier: Apache-2.0
// Export of a graph as an ONNX model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/formats/options.h"
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

/// The names of the recurrent layers of floats that ONNX has no operator for: they become operators
/// of Halftone's domain, which other runtimes lack.
std::vector<std::string> own_float_layers(const ir::Graph& graph);

/// A file beside that of the model for the data of tensors, if the model is too large without it.
struct ExternalFile {
  std::string name;                                ///< in the model's folder; empty: there is none
  std::size_t above = (std::size_t{1} << 31) - 1;  ///< bytes of a model: protobuf's limit
};

/// The data of a tensor in the external file.
struct ExternalTensor {
  std::uint64_t offset = 0;
  SharedBytes bytes;
};

/// A model before it becomes bytes.
struct OnnxModel {
  std::shared_ptr<onnx_pb::ModelProto> message;
  std::vector<ExternalTensor> external{};  ///< by offset; empty: there is no external file
};

/// The same before it becomes bytes. Large constants of an external file are views of the graph's.
/// @throws Error as export_onnx(); kUnsupported if the model is too large and there is no external
///         file
OnnxModel onnx_model(const ir::Graph& graph, const ExportOptions& options = {},
                     const ExternalFile& external = {});
/// The bytes of a model. @pre it has no external file
std::vector<std::byte> onnx_bytes(const OnnxModel& model);
/// Appends the bytes of a model to a file, without a copy of them all in memory.
/// @throws Error kIo as NewFile::append()
void append_onnx(const OnnxModel& model, NewFile& file);
/// The same of its external file, with zeros between tensors.
void append_external(const OnnxModel& model, NewFile& file);

}  // namespace halftone::formats
