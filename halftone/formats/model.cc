// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/model.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/formats/circle/export.h"
#include "halftone/formats/circle/file_layers.h"
#include "halftone/formats/circle/import.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/standard_form.h"
#include "halftone/formats/read_back.h"
#include "halftone/ir/open_extents.h"
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

ModelFormat format_named(std::string_view name) {
  for (const ModelFormat format : kFormats) {
    if (name == to_string(format)) return format;
  }
  fail(ErrorKind::kUsage,
       "format: expected onnx, tflite or circle, found '" + std::string(name) + "'");
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

ModelFormat model_format(std::span<const std::byte> bytes) {
  constexpr std::size_t kIdentifier = 4;
  if (bytes.size() >= 2 * kIdentifier) {
    const std::string_view found(reinterpret_cast<const char*>(bytes.data()) + kIdentifier,
                                 kIdentifier);
    if (found == "TFL3") return ModelFormat::kTflite;
    if (found == "CIR0") return ModelFormat::kCircle;
  }
  return ModelFormat::kOnnx;
}

namespace {

/// The folder of a file, for a name without one too.
std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// As in import_circle(): a network traced with one sample accepts any batch.
ir::Graph with_open_batch(ir::Graph graph) {
  ir::try_symbolic_batch(graph);
  return graph;
}

/// @throws Error kFormat if a network gives nothing: it only remembers
ir::Graph with_outputs(ir::Graph graph) {
  if (graph.untied(graph.outputs()).empty()) {
    fail(ErrorKind::kFormat, "expected an output that is no state, found none");
  }
  return graph;
}

/// A network in the form of a file.
class Written {
 public:
  /// @throws Error kUnsupported if the format cannot express it
  /// @param external  the file for what an ONNX message cannot hold; empty: there is none
  Written(ModelFormat format, const ir::Graph& graph, const ExportOptions& options,
          const std::string& external = {})
      : source_(graph), graph_(graph) {
    if (format == ModelFormat::kOnnx) {
      if (options.is_standard()) graph_ = standard_form(graph, options);
      onnx_ = onnx_model(graph_, options, {external});
    } else {
      if (!ir::open_extents(graph).empty()) {
        fail(ErrorKind::kUnsupported, ir::how_to_give_extents(graph) +
                                          "; files of this format have no other open extents "
                                          "than the batch");
      }
      graph_ = with_file_layers(graph);
      const bool is_tflite = format == ModelFormat::kTflite;
      circle_ = circle_file(graph_, is_tflite ? CircleFlavor::kTflite : CircleFlavor::kCircle,
                            options.one_operator);
    }
  }

  void append_to(NewFile& file) const {
    onnx_ ? append_onnx(*onnx_, file) : file.append(circle_.bytes);
  }

  [[nodiscard]] bool has_external() const { return onnx_ && !onnx_->external.empty(); }
  void append_external_to(NewFile& file) const { append_external(*onnx_, file); }

  [[nodiscard]] SharedBytes bytes() const {
    return onnx_ ? own_bytes(onnx_bytes(*onnx_)) : circle_;
  }

  /// Called once, last: it may use up the form.
  /// @return the network that reads back
  /// @throws Error kUnsupported if the form does not read back as the same network
  ir::Graph check() {
    ir::Graph found;
    try {
      found = read_back();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kMemory) throw;
      fail(ErrorKind::kUnsupported, std::string("does not read back: ") + error.what());
    }
    check_read_back(source_, graph_, found);
    return found;
  }

 private:
  ir::Graph read_back() {
    return onnx_ ? with_open_batch(import_onnx(std::move(*onnx_))) : import_circle(circle_);
  }

  ir::Graph source_;               ///< it shares constants, as graph_ does
  ir::Graph graph_;                ///< what the file holds; it shares constants
  std::optional<OnnxModel> onnx_;  ///< or nothing, and
  SharedBytes circle_;
};

/// "; the network can be written as .onnx"; empty if it cannot be written at all.
std::string advice(ModelFormat refused, const ir::Graph& graph) {
  for (const ModelFormat format : kFormats) {
    if (format == refused) continue;
    try {
      Written(format, graph, {}).check();
      return "; the network can be written as ." + std::string(to_string(format));
    } catch (const Error&) {
      continue;  // the next format
    }
  }
  return "";
}

/// What is written: a file, or bytes.
struct Target {
  std::string name;  ///< in messages
  ModelFormat format;
};

/// The file beside one with the data that this cannot hold, as PyTorch names it.
std::filesystem::path external_file(const std::filesystem::path& path) {
  return path.string() + ".data";
}

Written written_to(const std::filesystem::path& path, const ir::Graph& graph,
                   const ExportOptions& options) {
  return {model_format(path), graph, options, external_file(path).filename().string()};
}

/// A step of writing a network. If that is not possible, the error names a format that is.
template <typename Step>
auto with_advice(const Target& target, const ir::Graph& graph, const ExportOptions& options,
                 const Step& step) {
  return with_context(target.name, [&] {
    if (options.is_standard() && target.format != ModelFormat::kOnnx) {
      fail(ErrorKind::kUsage,
           "the standard form is one of ONNX: expected a name that ends in .onnx");
    }
    if (options.one_operator && target.format == ModelFormat::kCircle) {
      fail(ErrorKind::kUsage,
           "one operator is for ONNX Runtime and LiteRT: expected a name that ends in .onnx or "
           ".tflite");
    }
    if (options.is_standard() && options.one_operator) {
      fail(ErrorKind::kUsage, "expected the standard form or one operator, found both");
    }
    try {
      return step();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported || options.is_standard()) throw;
      fail(error.kind(), error.what() + advice(target.format, graph));
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
    if (format != ModelFormat::kOnnx) return with_outputs(import_circle(file, options, used));
    return with_outputs(
        with_open_batch(import_onnx(file.bytes, folder_of(path), options, used, &external_bytes)));
  });
  if (file_bytes != nullptr) *file_bytes = file.bytes.size() + external_bytes;
  return graph;
}

ir::Graph load_model(const SharedBytes& file, const std::string& name, const ImportOptions& options,
                     std::set<std::string>* used) {
  return with_context(name, [&] {
    if (file.bytes.empty()) fail(ErrorKind::kFormat, "expected a network, found no bytes");
    if (model_format(file.bytes) != ModelFormat::kOnnx) {
      return with_outputs(import_circle(file, options, used));
    }
    return with_outputs(with_open_batch(import_onnx(file.bytes, {}, options, used)));
  });
}

namespace {

std::optional<ir::Graph> open_inputs(const SharedBytes& file, ModelFormat format,
                                     const ImportOptions& options) {
  ir::Graph graph = format == ModelFormat::kOnnx ? onnx_inputs(file.bytes, options)
                                                 : circle_inputs(file, options);
  return ir::open_extents(graph).empty() ? std::nullopt : std::optional(std::move(graph));
}

}  // namespace

std::optional<ir::Graph> open_inputs(const std::filesystem::path& path,
                                     const ImportOptions& options) {
  const ModelFormat format = model_format(path);
  const SharedBytes file = map_file(path);
  return with_context(path.string(), [&] { return open_inputs(file, format, options); });
}

std::optional<ir::Graph> open_inputs(const SharedBytes& file, const std::string& name,
                                     const ImportOptions& options) {
  return with_context(name, [&] { return open_inputs(file, model_format(file.bytes), options); });
}

std::vector<std::string> own_float_layers(const ir::Graph& graph, ModelFormat format) {
  return format == ModelFormat::kOnnx ? own_float_layers(graph) : own_circle_layers(graph);
}

void check_model(const ir::Graph& graph, const std::filesystem::path& path,
                 const ExportOptions& options) {
  const Target target{path.string(), model_format(path)};
  with_advice(target, graph, options, [&] { written_to(path, graph, options).check(); });
}

std::uintmax_t save_model(const ir::Graph& graph, const std::filesystem::path& path,
                          const ExportOptions& options,
                          const std::function<void(const ir::Graph& found)>& accept) {
  const Target target{path.string(), model_format(path)};
  Written written =
      with_advice(target, graph, options, [&] { return written_to(path, graph, options); });
  NewFile file(path);
  written.append_to(file);
  std::optional<NewFile> external;
  if (written.has_external()) written.append_external_to(external.emplace(external_file(path)));
  const ir::Graph found = with_advice(target, graph, options, [&] { return written.check(); });
  if (accept) with_context(target.name, [&] { accept(found); });
  if (external) external->complete();
  file.complete();  // before either replaces a file: a full disk leaves both
  if (external) external->finish();
  file.finish();
  return bytes_of_file(path) + (external ? bytes_of_file(external_file(path)) : 0);
}

SharedBytes model_bytes(const ir::Graph& graph, ModelFormat format, const std::string& name,
                        const ExportOptions& options) {
  return with_advice(Target{name, format}, graph, options, [&] {
    Written written(format, graph, options);
    SharedBytes bytes = written.bytes();
    written.check();
    return bytes;
  });
}

}  // namespace halftone::formats
