// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/export.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <exception>
#include <limits>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/one_operator.h"
#include "halftone/ir/verify.h"

namespace halftone::formats {
namespace {

/// Runs one step. Records an unsupported construct, so that the export can report all of them.
template <typename Step>
void note_unsupported(std::string& problems, Step&& step) {
  try {
    step();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    problems += (problems.empty() ? "" : "; ") + std::string(error.what());
  }
}

[[noreturn]] void fail_to_serialize() {
  fail(ErrorKind::kInternal, "the model could not be serialized");
}

/// Hands a file what protobuf writes, block by block. Protobuf writes in a destructor, too, so an
/// error is kept for check().
class FileOutput : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit FileOutput(NewFile& file) : file_(file) {}
  bool Write(const void* data, int size) override {
    if (failure_) return false;
    try {
      file_.append({static_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
    } catch (...) {
      failure_ = std::current_exception();
    }
    return !failure_;
  }

  /// @throws Error as NewFile::append() if that has
  void check() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  NewFile& file_;
  std::exception_ptr failure_;
};

}  // namespace

OnnxModel onnx_model(const ir::Graph& graph, const ExportOptions& options,
                     const ExternalFile& external) {
  ir::verify(graph);
  onnx::Exporter exporter(graph, options);
  std::string problems;
  for (const ir::ValueId id : graph.inputs()) {
    note_unsupported(problems, [&] { exporter.add_input(id); });
  }
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (exporter.is_written(node.output)) continue;
    note_unsupported(problems, [&] {
      with_context(ir::describe(node), [&] { onnx::export_node(exporter, node); });
    });
  }
  for (const ir::ValueId id : graph.outputs()) {
    note_unsupported(problems, [&] { exporter.add_output(id); });
  }
  if (!problems.empty()) fail(ErrorKind::kUnsupported, "not expressible in ONNX: " + problems);
  if (options.one_operator) return onnx::as_one_operator(exporter.finish({}));
  return exporter.finish(external);
}

std::vector<std::string> own_float_layers(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.topological_order()) {
    if (onnx::is_own_float_recurrent(graph, graph.node(id))) names.push_back(graph.node(id).name);
  }
  return names;
}

std::vector<std::byte> export_onnx(const ir::Graph& graph, const ExportOptions& options) {
  return onnx_bytes(onnx_model(graph, options));
}

std::vector<std::byte> onnx_bytes(const OnnxModel& model) {
  HALFTONE_ASSERT(model.external.empty());
  std::vector<std::byte> bytes(model.message->ByteSizeLong());
  const bool fits = bytes.size() <= std::numeric_limits<int>::max();
  const bool done =
      fits && model.message->SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!done) fail_to_serialize();
  return bytes;
}

void append_onnx(const OnnxModel& model, NewFile& file) {
  FileOutput output(file);
  google::protobuf::io::CopyingOutputStreamAdaptor stream(&output);
  const bool done = model.message->SerializeToZeroCopyStream(&stream) && stream.Flush();
  output.check();
  if (!done) fail_to_serialize();
}

void append_external(const OnnxModel& model, NewFile& file) {
  std::uint64_t written = 0;
  for (const ExternalTensor& tensor : model.external) {
    file.append(std::vector<std::byte>(tensor.offset - written));
    file.append(tensor.bytes.bytes);
    tensor.bytes.release_pages();
    written = tensor.offset + tensor.bytes.bytes.size();
  }
}

}  // namespace halftone::formats
