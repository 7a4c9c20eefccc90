// SPDX-License-Identifier: Apache-2.0
// If, with a condition that is known during the import.
#include "halftone/base/error.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/subgraph.h"

namespace halftone::formats::onnx {
namespace {

void build_if(NodeBuilder& node) {
  const ir::Tensor* condition = node.constant(node.input(0));
  if (condition == nullptr) {
    NodeBuilder::unsupported("expected a condition known during the import");
  }
  if (condition->size() != 1) {
    fail(ErrorKind::kShape,
         "condition: expected one boolean, found " + condition->shape().to_string());
  }
  const bool holds = node.scalar_input(0) != 0;
  const auto* branch = node.graph_attribute(holds ? "then_branch" : "else_branch");
  if (branch == nullptr) fail(ErrorKind::kFormat, "expected two branches");
  const std::vector<Binding> outputs = inline_graph(node.state(), *branch);
  if (outputs.size() < node.num_outputs()) {
    fail(ErrorKind::kFormat, "expected " + std::to_string(node.num_outputs()) +
                                 " outputs of a branch, found " + std::to_string(outputs.size()));
  }
  for (std::size_t i = 0; i < node.num_outputs(); ++i) node.bind_output(i, outputs[i]);
}

constexpr ReaderEntry kControlReaders[] = {
    {"", "If", build_if},
};

}  // namespace

std::span<const ReaderEntry> control_readers() { return kControlReaders; }

}  // namespace halftone::formats::onnx
