// SPDX-License-Identifier: Apache-2.0
// Variables that keep numbers from run to run, which become states of the graph. Operators read and
// assign them in the order of the file; a run starts with what the last one left.
#include <algorithm>
#include <array>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/ir/evaluate_graph.h"

namespace halftone::formats::circle {
namespace {

using ir::ValueId;

void import_var_handle(OperatorImport& op) {
  const auto* options = op.options<schema::VarHandleOptions>();
  check(options != nullptr && options->shared_name() != nullptr, "the variable has no name");
  op.importer().define_handle(op.output_tensor(0), options->shared_name()->str());
}

void import_read_variable(OperatorImport& op) {
  Importer::Variable& variable = op.importer().variable(op.input_tensor(0));
  if (variable.now == ir::kAbsent) op.importer().begin_variable(variable, op.output_tensor(0));
  op.alias(variable.now);
}

void import_assign_variable(OperatorImport& op) {
  op.importer().variable(op.input_tensor(0)).now = op.raw(1);
}

void import_call_once(OperatorImport& op) {
  const auto* options = op.options<schema::CallOnceOptions>();
  check(options != nullptr && options->init_subgraph_index() > 0, "has no subgraph");
  op.importer().call_once(static_cast<std::size_t>(options->init_subgraph_index()));
}

constexpr ImportEntry kVariableImports[] = {
    {OperatorCode::kVarHandle, import_var_handle},
    {OperatorCode::kReadVariable, import_read_variable},
    {OperatorCode::kAssignVariable, import_assign_variable},
    {OperatorCode::kCallOnce, import_call_once},
};

bool is_zero(const ir::Tensor& tensor) {
  return std::ranges::all_of(tensor.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

std::span<const ImportEntry> variable_imports() { return kVariableImports; }

void Importer::define_handle(std::size_t tensor, const std::string& name) {
  define(tensor, ir::kAbsent);
  handles_[tensor] = name;
  variables_[name].name = name;
}

Importer::Variable& Importer::variable(std::size_t handle) {
  if (states_[handle] == State::kUnavailable) throw Unavailable{};
  const auto found = handles_.find(handle);
  check(found != handles_.end(),
        "tensor '" + file_.tensor_name(handle) + "': expected a handle of a variable");
  return variables_.at(found->second);
}

Importer::Variable& Importer::own_variable(std::size_t tensor, const ir::Shape& shape) {
  std::string name = file_.tensor_name(tensor);
  while (variables_.contains(name)) name += "/" + std::to_string(tensor);
  Variable& variable = variables_[name];
  variable.name = name;
  variable.before = variable.now =
      graph_.add_input(name, ir::dense_type(ir::ElementType::kFloat32, shape));
  begun_.push_back(&variable);
  return variable;
}

void Importer::call_once(std::size_t subgraph) {
  if (!file_.is_main()) fail(ErrorKind::kUnsupported, "a call within a subgraph");
  const FileModel file = file_.subgraph(subgraph);
  check(file.graph_inputs().empty(), "the subgraph has inputs");
  for (auto& [name, tensor] : Importer(file, options_, nullptr).assigned()) {
    charge(tensor.bytes().size());
    variables_[name].name = name;
    if (!is_zero(tensor)) variables_[name].first = std::move(tensor);
  }
}

std::map<std::string, ir::Tensor> Importer::assigned() {
  import_all();
  for (const auto& [name, variable] : variables_) {
    if (variable.before != ir::kAbsent || variable.now == ir::kAbsent) {
      fail(ErrorKind::kUnsupported, "variable '" + name + "' is read before it is assigned");
    }
    graph_.add_output(variable.now);
  }
  for (const ir::NodeId id : graph_.topological_order()) {
    const ir::ValueType& type = graph_.value(graph_.node(id).output).type;
    charge(type.shape.element_count() * size_bytes(type.encoding.element));
  }
  std::vector<ir::Tensor> values = ir::evaluate_graph(graph_, {});
  std::map<std::string, ir::Tensor> result;
  for (auto& [name, variable] : variables_) {
    result.emplace(name, std::move(values[result.size()]));
  }
  return result;
}

void Importer::begin_variable(Variable& variable, std::size_t tensor) {
  const auto element = element_type(file_.tensor(tensor).type());
  if (!element) fail(ErrorKind::kUnsupported, "unsupported element type");
  const std::string& name = variable.name;
  const ir::ValueType type = ir::dense_type(*element, file_.shape(tensor));
  variable.before = variable.now = graph_.add_input(name, type);
  begun_.push_back(&variable);
  if (!variable.first) return;
  if (variable.first->type() != type) {
    fail(ErrorKind::kUnsupported, "variable '" + name + "': expected a first value of " +
                                      type.to_string() + ", found " +
                                      variable.first->type().to_string());
  }
  const ValueId first = graph_.add_constant(name + "/first", std::move(*variable.first));
  variable.now = graph_.add_node(name + "/now", ir::Where{}, {has_run(), variable.before, first});
}

ir::ValueId Importer::has_run() {
  if (has_run_ != ir::kAbsent) return has_run_;
  const auto number = [&](const char* name, float value) {
    return graph_.add_constant(name, ir::Tensor::from<float>({1}, std::array{value}));
  };
  runs_.name = "has run";
  runs_.before = graph_.add_input(runs_.name, ir::dense_type(ir::ElementType::kFloat32, {1}));
  runs_.now = number("has run/yes", 1);
  begun_.push_back(&runs_);
  return has_run_ = graph_.add_node("has run/is", ir::Binary{ir::BinaryKind::kGreater, {}},
                                    {runs_.before, number("has run/no", 0)});
}

void Importer::tie_variable(const Variable& variable) {
  const ir::ValueType type = graph_.value(variable.before).type;
  if (graph_.value(variable.now).type != type) {
    fail(ErrorKind::kShape, "variable '" + variable.name + "': expected " + type.to_string() +
                                ", found " + graph_.value(variable.now).type.to_string());
  }
  // A value of its own, which no output has.
  graph_.tie(variable.before,
             graph_.add_node(variable.name + "/after", ir::Reshape{type.shape}, {variable.now}));
}

std::set<ir::ValueId> Importer::values_behind_outputs() const {
  std::set<ValueId> found;
  std::vector<ValueId> next(graph_.outputs().begin(), graph_.outputs().end());
  for (const ir::Definition& definition : graph_.definitions()) next.push_back(definition.value);
  while (!next.empty()) {
    const ValueId id = next.back();
    next.pop_back();
    if (id == ir::kAbsent || !found.insert(id).second) continue;
    const auto of_state =
        std::ranges::find(begun_, id, [](const Variable* v) { return v->before; });
    if (of_state != begun_.end()) next.push_back((*of_state)->now);
    const auto producer = graph_.producer(id);
    if (!producer) continue;
    const ir::Node& node = graph_.node(*producer);
    next.insert(next.end(), node.inputs.begin(), node.inputs.end());
  }
  return found;
}

void Importer::tie_variables() {
  if (begun_.empty()) return;
  // Keras' dropout counts random numbers, which no output of a trained network reads.
  const std::set<ValueId> used = values_behind_outputs();
  for (const Variable* variable : begun_) {
    if (used.contains(variable->before)) tie_variable(*variable);
  }
  graph_.remove_unused_nodes();
  for (const Variable* variable : begun_) {
    if (!used.contains(variable->before)) graph_.remove_input(variable->before);
  }
}

}  // namespace halftone::formats::circle
