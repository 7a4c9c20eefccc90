// SPDX-License-Identifier: Apache-2.0
// Import of ONNX models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>

#include "halftone/formats/onnx/export.h"
#include "halftone/formats/options.h"
#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Parses, validates, builds and verifies the graph of an ONNX model of operator set 1 to 28.
///
/// - float16, bfloat16 and double become float32; four-bit integers become eight-bit ones.
/// - The first extent of an input becomes the batch if it is unknown in the file (a name, no value,
///   0 or -1), and so do others of that name. Other unknown extents become symbols (ir/extent.h).
/// - The model's own functions and the branches of an If become part of the graph; a Where chooses
///   between the branches if the condition is not known.
/// - Bodies of a Loop and a Scan become graphs of their own (ir::Loop), or part of the graph, once
///   for each iteration, where their shapes follow from the iteration.
/// - Shape arithmetic is evaluated during the import, with the batch and open extents as symbols.
/// - Weights in external files are read from `folder` and nowhere else.
/// - Memory for derived constants (filled, transposed or scaled) is bounded by a small multiple of
///   the model size.
///
/// @param bytes   a whole ModelProto
/// @param folder  folder of external data; empty: external data are rejected
/// @param used    as in check_names()
/// @param external_bytes  receives the size of the external files that were read; may be null
/// @throws Error kUsage if the options do not fit the inputs; kFormat if the bytes are not a valid
///         model (also: NaN or infinity in a weight); kUnsupported for a newer operator set or IR
///         version, and listing all unsupported operators with their nodes, in one line; kShape if
///         operands do not fit; kIo if an external file cannot be read
ir::Graph import_onnx(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                      const ImportOptions& options = {}, std::set<std::string>* used = nullptr,
                      std::uintmax_t* external_bytes = nullptr);

/// The inputs of a model, as a graph without operators.
/// @throws Error as import_onnx(), also for operators that are not supported
ir::Graph onnx_inputs(std::span<const std::byte> bytes, const ImportOptions& options);

/// The graph of a model that export_onnx() would write, which loses its weights. External data are
/// those in memory.
/// @throws Error as import_onnx()
ir::Graph import_onnx(OnnxModel&& model);

}  // namespace halftone::formats
