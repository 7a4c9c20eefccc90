// SPDX-License-Identifier: Apache-2.0
// IF, and WHILE as a loop over its body.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::ValueId;

/// Adds the nodes of a graph, with some values in place of its inputs.
/// @param prefix  of the names of nodes
/// @return        its outputs
std::vector<ValueId> add_part(ir::Graph& graph, const ir::Graph& part,
                              const std::vector<ValueId>& inputs, const std::string& prefix) {
  std::vector<ValueId> copies(part.num_values(), ir::kAbsent);
  const auto copy_of = [&](ValueId id) -> ValueId& { return copies[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < inputs.size(); ++i) copy_of(part.inputs()[i]) = inputs[i];
  for (std::size_t v = 0; v < copies.size(); ++v) {
    const ir::Value& value = part.value(ValueId{static_cast<std::uint32_t>(v)});
    if (value.constant) copies[v] = graph.add_constant(value.name, value.constant);
  }
  for (const ir::NodeId id : part.topological_order()) {
    const ir::Node& node = part.node(id);
    std::vector<ValueId> operands = node.inputs;
    for (ValueId& operand : operands) {
      if (operand != ir::kAbsent) operand = copy_of(operand);
    }
    copy_of(node.output) = graph.add_node(prefix + node.name, node.op, std::move(operands),
                                          part.value(node.output).name);
  }
  std::vector<ValueId> outputs;
  for (const ValueId id : part.outputs()) outputs.push_back(copy_of(id));
  return outputs;
}

std::size_t subgraph_index(int index) {
  check(index > 0, "has no subgraphs");
  return static_cast<std::size_t>(index);
}

/// The results of a branch. @param first  the first input of the operator that it reads
std::vector<ValueId> add_branch(OperatorImport& op, int index) {
  std::vector<ValueId> inputs;
  for (std::size_t i = 1; i < op.num_inputs(); ++i) inputs.push_back(op.raw(i));
  const ir::Graph branch = op.importer().run_subgraph(subgraph_index(index), {});
  check(branch.inputs().size() == inputs.size() && branch.outputs().size() == op.num_outputs(),
        "a branch has other inputs or outputs");
  return add_part(op.graph(), branch, inputs, "");
}

bool is_flag(const ir::ValueType& type) {
  return type.is_dense(ir::ElementType::kBool) && type.shape.is_static() &&
         type.shape.element_count() == 1;
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

/// The variables of a WHILE by how a loop has them.
struct LoopVariables {
  std::map<std::size_t, ir::Tensor> constants;  ///< that no iteration changes
  std::vector<std::size_t> states;
  std::vector<std::size_t> captured;  ///< computed, but no iteration changes them
};

LoopVariables variables_of(OperatorImport& op, const FileModel& body) {
  const std::vector<std::size_t> before = body.graph_inputs();
  const std::vector<std::size_t> after = body.graph_outputs();
  check(op.num_inputs() == op.num_outputs() && op.num_inputs() == before.size() &&
            before.size() == after.size(),
        "the subgraphs have other variables");
  LoopVariables variables;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const ir::Constant* constant = op.graph().constant(op.raw(i));
    if (before[i] != after[i]) {
      variables.states.push_back(i);
    } else if (constant != nullptr) {
      variables.constants[i] = std::get<ir::Tensor>(*constant).clone();
    } else {
      variables.captured.push_back(i);
    }
  }
  return variables;
}

/// Those of some values that are inputs of a subgraph: all that are no constants of it.
std::vector<ValueId> operands(const std::vector<ValueId>& values, const LoopVariables& variables) {
  std::vector<ValueId> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!variables.constants.contains(i)) result.push_back(values[i]);
  }
  return result;
}

/// The body of the loop: an iteration, and whether to go on behind it.
std::shared_ptr<const ir::Graph> make_body(const ir::Graph& iteration, const ir::Graph& condition,
                                           const LoopVariables& variables, std::size_t count,
                                           const std::string& name) {
  auto body = std::make_shared<ir::Graph>();
  body->add_input("iteration", ir::dense_type(ir::ElementType::kInt64, ir::Shape{}));
  // The inputs of an iteration are all variables but the constants, in order.
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < count; ++i) {
    if (!variables.constants.contains(i)) kept.push_back(i);
  }
  check(iteration.inputs().size() == kept.size() && iteration.outputs().size() == count,
        "the body has other variables");
  std::vector<ValueId> values(count, ir::kAbsent);
  for (const auto* list : {&variables.states, &variables.captured}) {
    for (const std::size_t i : *list) {
      const auto at = static_cast<std::size_t>(std::ranges::find(kept, i) - kept.begin());
      const ir::Value& input = iteration.value(iteration.inputs()[at]);
      values[i] = body->add_input(input.name, input.type);
    }
  }
  const auto next = add_part(*body, iteration, operands(values, variables), name + "/");
  for (const std::size_t i : variables.states) values[i] = next[i];
  body->add_output(add_part(*body, condition, operands(values, variables), name + "/go/")[0]);
  for (const std::size_t i : variables.states) body->add_output(next[i]);
  return body;
}

}  // namespace

void import_loop(OperatorImport& op) {
  const auto* options = op.options<schema::WhileOptions>();
  Importer& importer = op.importer();
  const std::size_t body_index = subgraph_index(options->body_subgraph_index());
  const LoopVariables variables = variables_of(op, importer.file().subgraph(body_index));
  const ir::Graph iteration = importer.run_subgraph(body_index, variables.constants);
  const ir::Graph condition =
      importer.run_subgraph(subgraph_index(options->cond_subgraph_index()), variables.constants);
  const std::size_t count = op.num_inputs();
  check(condition.outputs().size() == 1 && condition.inputs().size() == iteration.inputs().size() &&
            is_flag(condition.value(condition.outputs()[0]).type),
        "expected one boolean of the condition");
  const std::string name = importer.file().tensor_name(op.output_tensor(0));
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(op.raw(i));
  ir::Loop loop{.body = make_body(iteration, condition, variables, count, name), .is_while = true};
  loop.keeps.assign(variables.states.size(), true);
  loop.max_iterations = importer.options().max_iterations;
  std::vector<ValueId> inputs{
      add_part(op.graph(), condition, operands(values, variables), name + "/begin/")[0],
      ir::kAbsent};
  for (const auto* list : {&variables.states, &variables.captured}) {
    for (const std::size_t i : *list) inputs.push_back(values[i]);
  }
  const ValueId record = op.graph().add_node(name, loop, std::move(inputs));
  const std::vector<ir::LoopResult> results = ir::results_of(loop);
  for (std::size_t s = 0; s < results.size(); ++s) {
    const std::size_t i = variables.states[s];
    op.alias(
        op.graph().add_node(importer.file().tensor_name(op.output_tensor(i)), results[s], {record}),
        i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (std::ranges::count(variables.states, i) == 0) op.alias(values[i], i);
  }
}

std::span<const ImportEntry> control_imports() {
  static constexpr ImportEntry kControlImports[] = {{OperatorCode::kIf, import_if}};
  return kControlImports;
}

}  // namespace halftone::formats::circle
