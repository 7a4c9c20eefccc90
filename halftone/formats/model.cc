// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/model.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/formats/circle/export.h"
#include "halftone/formats/circle/import.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/ir/symbolic_batch.h"

namespace halftone::formats {

std::string_view to_string(ModelFormat format) {
  switch (format) {
    case ModelFormat::kOnnx:
      return "onnx";
    case ModelFormat::kTflite:
      return "tflite";
    case ModelFormat::kCircle:
      return "circle";
  }
  return "unknown";
}

ModelFormat model_format(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const ModelFormat format :
       {ModelFormat::kOnnx, ModelFormat::kTflite, ModelFormat::kCircle}) {
    if (extension == "." + std::string(to_string(format))) return format;
  }
  fail(ErrorKind::kUnsupported, path.string() +
                                    ": expected a name that ends in .onnx, .tflite or .circle, "
                                    "found '" +
                                    extension + "'");
}

namespace {

/// The folder of a file, for a name without one too.
std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

}  // namespace

ir::Graph load_model(const std::filesystem::path& path, const ImportOptions& options,
                     std::set<std::string>* used, std::uintmax_t* file_bytes) {
  const ModelFormat format = model_format(path);
  const std::vector<std::byte> bytes = read_file(path);
  if (file_bytes != nullptr) *file_bytes = bytes.size();
  return with_context(path.string(), [&] {
    if (format != ModelFormat::kOnnx) return import_circle(bytes, options, used);
    std::uintmax_t external_bytes = 0;
    ir::Graph graph = import_onnx(bytes, folder_of(path), options, used, &external_bytes);
    if (file_bytes != nullptr) *file_bytes += external_bytes;
    // As in import_circle(): a network traced with one sample accepts any batch.
    ir::try_symbolic_batch(graph);
    return graph;
  });
}

namespace {

std::vector<std::byte> encode_model(const ir::Graph& graph, const std::filesystem::path& path) {
  const ModelFormat format = model_format(path);
  return with_context(path.string(), [&] {
    switch (format) {
      case ModelFormat::kTflite:
        return export_circle(graph, CircleFlavor::kTflite);
      case ModelFormat::kCircle:
        return export_circle(graph, CircleFlavor::kCircle);
      case ModelFormat::kOnnx:
        break;
    }
    return export_onnx(graph);
  });
}

}  // namespace

void check_model(const ir::Graph& graph, const std::filesystem::path& path) {
  encode_model(graph, path);
}

void save_model(const ir::Graph& graph, const std::filesystem::path& path) {
  write_file(path, encode_model(graph, path));
}

}  // namespace halftone::formats
