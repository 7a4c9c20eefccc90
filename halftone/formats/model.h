// SPDX-License-Identifier: Apache-2.0
// Reads and writes networks. The file name determines the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/formats/options.h"
#include "halftone/ir/graph.h"

namespace halftone::formats {

enum class ModelFormat { kOnnx, kTflite, kCircle };

std::string_view to_string(ModelFormat format);  ///< "onnx", "tflite", "circle"

/// The format of this name. @throws Error kUsage that lists the names
ModelFormat format_named(std::string_view name);

/// Format by file extension: .onnx, .tflite, .circle.
/// @throws Error kUnsupported, listing them, for any other extension
ModelFormat model_format(const std::filesystem::path& path);
/// Format by content: "TFL3" or "CIR0" at byte 4, the file identifiers of FlatBuffers; anything
/// else is taken for ONNX, whose messages bear no mark.
ModelFormat model_format(std::span<const std::byte> bytes);

/// Reads a network. If all inputs have a leading extent of 1, it becomes the batch where that does
/// not change the meaning of the network; see ir::try_symbolic_batch().
/// @param options     shapes and values for inputs
/// @param used        as in check_names()
/// @param file_bytes  receives the size of the file and of the files with its external data; may be
///                    null
/// @throws Error kIo if the file cannot be read; kFormat if it is malformed; kUnsupported naming
///         all operators that Halftone does not support; kUsage if the options do not fit the
///         inputs; messages start with the path
ir::Graph load_model(const std::filesystem::path& path, const ImportOptions& options = {},
                     std::set<std::string>* used = nullptr, std::uintmax_t* file_bytes = nullptr);

/// Reads a network from memory, whose content determines the format. Constants are views of the
/// bytes where these have an owner.
/// @param name  of the network in messages
/// @throws Error as load_model() of a path, except kIo; kFormat for weights in external files,
/// which
///         memory has none of
ir::Graph load_model(const SharedBytes& file, const std::string& name,
                     const ImportOptions& options = {}, std::set<std::string>* used = nullptr);

/// The inputs of a file that leaves extents of them open beside the batch, as a graph without
/// operators; nullopt if it leaves none open.
/// @throws Error as load_model(), before it would read operators
std::optional<ir::Graph> open_inputs(const std::filesystem::path& path,
                                     const ImportOptions& options);
/// The same of a file in memory.
std::optional<ir::Graph> open_inputs(const SharedBytes& file, const std::string& name,
                                     const ImportOptions& options);

/// Checks that a network can be written, before time is spent on it.
/// @throws Error as save_model(), except kIo
void check_model(const ir::Graph& graph, const std::filesystem::path& path,
                 const ExportOptions& options = {});

/// Writes a network atomically, after reading the bytes back: what Halftone cannot read, or would
/// read as another network, is not written. Equal graphs give equal bytes. In a standard form the
/// network is standard_form() of this one: the same up to rounding. An ONNX network of more than
/// 2 GiB has its constants in a second file, whose name is that of the first and ".data".
/// @param accept  called with the network that the file holds before this takes its place: what it
///                throws, with the path before it, leaves what was there; may be empty
/// @return bytes of the file and its external data
/// @throws Error kUnsupported if the format cannot express something in the graph, naming another
///         format that can if there is one; kIo if the file cannot be written; messages start with
///         the path; kUsage for a standard form of another format than ONNX
std::uintmax_t save_model(const ir::Graph& graph, const std::filesystem::path& path,
                          const ExportOptions& options = {},
                          const std::function<void(const ir::Graph& found)>& accept = {});

/// The names of the layers of floats that a format has no operator for: they become operators of
/// Halftone's, which other runtimes lack.
std::vector<std::string> own_float_layers(const ir::Graph& graph, ModelFormat format);

/// The bytes that save_model() writes to a file of this format.
/// @param name  of the network in messages
/// @throws Error as save_model(), except kIo
SharedBytes model_bytes(const ir::Graph& graph, ModelFormat format, const std::string& name,
                        const ExportOptions& options = {});

}  // namespace halftone::formats
