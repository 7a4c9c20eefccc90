// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime as a peer, where Python has it. It runs in a process of its own, started with
// bench/onnx_runtime.py, which measures its runs itself.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "bench/case.h"

namespace halftone::bench {

/// Number format of a network on ONNX Runtime; it is quantized when it is prepared.
enum class OnnxRuntimeFormat { kFloat32, kInt8 };

std::string to_string(OnnxRuntimeFormat format);  ///< "ORT f32", "ORT int8"

/// Whether Python finds the packages onnxruntime and onnx. The program is python3, or what the
/// environment variable HALFTONE_PYTHON names.
bool has_onnx_runtime();

/// A network of float32 inputs.
/// @param batch  extent of axes that have no fixed one
/// @throws Error kUnsupported if the process ends before the network is ready; its messages are on
///         standard error
Prepared prepare_onnx_runtime(const std::filesystem::path& model, OnnxRuntimeFormat format,
                              std::size_t batch, int threads);

}  // namespace halftone::bench
