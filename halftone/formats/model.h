// SPDX-License-Identifier: Apache-2.0
// Networks in files: the format is what the file's name says.
#pragma once

#include <filesystem>
#include <string_view>

#include "halftone/formats/onnx/import.h"
#include "halftone/ir/graph.h"

namespace halftone::formats {

enum class ModelFormat { kOnnx, kTflite, kCircle };

std::string_view to_string(ModelFormat format);  ///< "onnx", "tflite", "circle"

/// By extension: .onnx, .tflite, .circle.
/// @throws Error kUnsupported that lists them, for any other
ModelFormat model_format(const std::filesystem::path& path);

/// Reads a network. One whose inputs all lead with a single sample takes any number of them, where
/// that does not change its meaning; see ir::try_symbolic_batch().
/// @param options  for ONNX models: inputs that are fixed
/// @throws Error kIo if the file cannot be read; kFormat if it is malformed; kUnsupported if it
///         has operators Halftone does not know, all of them named; kUsage if the options do not
///         fit the model; messages start with the path
ir::Graph load_model(const std::filesystem::path& path, const OnnxOptions& options = {});

/// Finds out whether a network can be written, before work is put into it.
/// @throws Error as save_model(), but for the writing
void check_model(const ir::Graph& graph, const std::filesystem::path& path);

/// Writes a network, whole or not at all; the same graph gives the same bytes.
/// @throws Error kUnsupported if the format cannot express something in the graph; kIo if the
/// file
///         cannot be written; messages start with the path
void save_model(const ir::Graph& graph, const std::filesystem::path& path);

}  // namespace halftone::formats
