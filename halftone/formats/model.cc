// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/model.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/formats/circle/export.h"
#include "halftone/formats/circle/import.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/read_back.h"
#include "halftone/ir/symbolic_batch.h"

namespace halftone::formats {
namespace {

constexpr std::array kFormats = {ModelFormat::kOnnx, ModelFormat::kTflite, ModelFormat::kCircle};

}  // namespace

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
  for (const ModelFormat format : kFormats) {
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

/// What import_onnx() takes and tells beside the bytes.
struct Surroundings {
  std::filesystem::path folder;
  const ImportOptions& options;
  std::set<std::string>* used = nullptr;
  std::uintmax_t* external_bytes = nullptr;
};

ir::Graph import_model(ModelFormat format, SharedBytes file, const Surroundings& with) {
  if (format != ModelFormat::kOnnx) return import_circle(std::move(file), with.options, with.used);
  ir::Graph graph =
      import_onnx(file.bytes, with.folder, with.options, with.used, with.external_bytes);
  // As in import_circle(): a network traced with one sample accepts any batch.
  ir::try_symbolic_batch(graph);
  return graph;
}

std::vector<std::byte> export_model(ModelFormat format, const ir::Graph& graph) {
  switch (format) {
    case ModelFormat::kTflite:
      return export_circle(graph, CircleFlavor::kTflite);
    case ModelFormat::kCircle:
      return export_circle(graph, CircleFlavor::kCircle);
    case ModelFormat::kOnnx:
      break;
  }
  return export_onnx(graph);
}

/// The bytes of a file that reads back as the same network.
std::vector<std::byte> confirmed_bytes(ModelFormat format, const ir::Graph& graph) {
  std::vector<std::byte> bytes = export_model(format, graph);
  const ImportOptions none;
  ir::Graph found;
  try {
    found = import_model(format, {nullptr, bytes, 0}, {{}, none});
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory) throw;
    fail(ErrorKind::kUnsupported, std::string("does not read back: ") + error.what());
  }
  check_read_back(graph, found);
  return bytes;
}

/// "; the network can be written as .onnx"; empty if it cannot be written at all.
std::string advice(ModelFormat refused, const ir::Graph& graph) {
  for (const ModelFormat format : kFormats) {
    if (format == refused) continue;
    try {
      confirmed_bytes(format, graph);
      return "; the network can be written as ." + std::string(to_string(format));
    } catch (const Error&) {
      continue;  // the next format
    }
  }
  return "";
}

std::vector<std::byte> encode_model(const ir::Graph& graph, const std::filesystem::path& path) {
  const ModelFormat format = model_format(path);
  return with_context(path.string(), [&] {
    try {
      return confirmed_bytes(format, graph);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      fail(error.kind(), error.what() + advice(format, graph));
    }
  });
}

}  // namespace

ir::Graph load_model(const std::filesystem::path& path, const ImportOptions& options,
                     std::set<std::string>* used, std::uintmax_t* file_bytes) {
  const ModelFormat format = model_format(path);
  const SharedBytes file = map_file(path);
  std::uintmax_t external_bytes = 0;
  ir::Graph graph = with_context(path.string(), [&] {
    return import_model(format, file, {folder_of(path), options, used, &external_bytes});
  });
  if (file_bytes != nullptr) *file_bytes = file.bytes.size() + external_bytes;
  return graph;
}

void check_model(const ir::Graph& graph, const std::filesystem::path& path) {
  encode_model(graph, path);
}

void save_model(const ir::Graph& graph, const std::filesystem::path& path) {
  write_file(path, encode_model(graph, path));
}

}  // namespace halftone::formats
