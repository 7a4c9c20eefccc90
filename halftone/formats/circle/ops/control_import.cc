// SPDX-License-Identifier: Apache-2.0
// IF as both branches and a choice.
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/graph_part.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::ValueId;

/// The results of a branch. @param first  the first input of the operator that it reads
std::vector<ValueId> add_branch(OperatorImport& op, int index) {
  std::vector<ValueId> inputs;
  std::vector<ir::Shape> shapes;
  for (std::size_t i = 1; i < op.num_inputs(); ++i) {
    inputs.push_back(op.raw(i));
    shapes.push_back(op.shape(inputs.back()));
  }
  check(index > 0, "has no subgraphs");
  const ir::Graph branch = op.importer().run_subgraph(static_cast<std::size_t>(index), {}, shapes);
  check(branch.inputs().size() == inputs.size() && branch.outputs().size() == op.num_outputs(),
        "a branch has other inputs or outputs");
  return add_part(op.graph(), branch, inputs, "");
}

void import_if(OperatorImport& op) {
  const auto* options = op.options<schema::IfOptions>();
  check(options != nullptr && op.num_inputs() > 0, "has no subgraphs");
  const ValueId condition = op.raw(0);
  check(is_flag(op.graph().value(condition).type), "expected one boolean as the condition");
  if (const ir::Constant* known = op.graph().constant(condition)) {
    const bool holds = std::get<ir::Tensor>(*known).bytes()[0] != std::byte{0};
    const auto outputs =
        add_branch(op, holds ? options->then_subgraph_index() : options->else_subgraph_index());
    for (std::size_t i = 0; i < outputs.size(); ++i) op.alias(outputs[i], i);
    return;
  }
  const auto then = add_branch(op, options->then_subgraph_index());
  const auto otherwise = add_branch(op, options->else_subgraph_index());
  const ValueId scalar = op.step(ir::Reshape{{}}, {condition}, "condition");
  for (std::size_t i = 0; i < then.size(); ++i) {
    const ir::ValueType& a = op.graph().value(then[i]).type;
    const ir::ValueType& b = op.graph().value(otherwise[i]).type;
    if (a != b) {
      fail(ErrorKind::kUnsupported, "output " + std::to_string(i) + " is " + a.to_string() +
                                        " in one branch and " + b.to_string() +
                                        " in the other: expected one type");
    }
    op.alias(op.step(ir::Where{}, {scalar, then[i], otherwise[i]}, std::to_string(i)), i);
  }
}

}  // namespace

std::span<const ImportEntry> control_imports() {
  static constexpr ImportEntry kControlImports[] = {{OperatorCode::kIf, import_if}};
  return kControlImports;
}

}  // namespace halftone::formats::circle
