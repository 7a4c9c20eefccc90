// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/export.h"

#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/exporter.h"
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

}  // namespace

std::vector<std::byte> export_onnx(const ir::Graph& graph) {
  ir::verify(graph);
  onnx::Exporter exporter(graph);
  std::string problems;
  for (const ir::ValueId id : graph.inputs()) {
    note_unsupported(problems, [&] { exporter.add_input(id); });
  }
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    note_unsupported(problems, [&] {
      with_context(ir::describe(node), [&] { onnx::export_node(exporter, node); });
    });
  }
  for (const ir::ValueId id : graph.outputs()) {
    note_unsupported(problems, [&] { exporter.add_output(id); });
  }
  if (!problems.empty()) fail(ErrorKind::kUnsupported, "not expressible in ONNX: " + problems);
  return exporter.finish();
}

}  // namespace halftone::formats
