// SPDX-License-Identifier: Apache-2.0
// States as variables of the file: read before all operators, assigned after them, zeros at first.
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/exporter.h"

namespace halftone::formats::circle {

TensorIndex Exporter::handle(schema::SubGraphT& graph, const std::string& name) {
  auto tensor = std::make_unique<schema::TensorT>();
  tensor->name = unique(name + "/variable");
  tensor->type = schema::TensorType::RESOURCE;
  graph.tensors.push_back(std::move(tensor));
  const auto index = static_cast<TensorIndex>(graph.tensors.size() - 1);
  schema::VarHandleOptionsT options;
  options.shared_name = name;
  add_to(graph, OperatorCode::kVarHandle, {}, {index}, united(std::move(options)));
  return index;
}

void Exporter::add_to(schema::SubGraphT& graph, OperatorCode code, std::vector<TensorIndex> inputs,
                      std::vector<TensorIndex> outputs, schema::BuiltinOptionsUnion options) {
  auto op = std::make_unique<schema::OperatorT>();
  op->opcode_index = operator_code(code, "");
  op->inputs = std::move(inputs);
  op->outputs = std::move(outputs);
  op->builtin_options = std::move(options);
  graph.operators.push_back(std::move(op));
}

void Exporter::begin_states() {
  if (graph_.states().empty()) return;
  file_->model.subgraphs.push_back(std::make_unique<schema::SubGraphT>());
  schema::SubGraphT& first = *file_->model.subgraphs[1];
  schema::SubGraphT& main = subgraph();
  first.name = "first";
  schema::CallOnceOptionsT once;
  once.init_subgraph_index = 1;
  add_to(main, OperatorCode::kCallOnce, {}, {}, united(once));
  for (const ir::State& state : graph_.states()) {
    const ir::Value& value = graph_.value(state.before);
    const TensorIndex begun = handle(first, value.name);
    const ir::Tensor zeros(value.type.encoding.element, value.type.shape.with_batch(1));
    auto stored =
        describe(unique(value.name + "/first"), tensor_type(zeros.element()), zeros.shape());
    stored->buffer = buffer(zeros.bytes());
    first.tensors.push_back(std::move(stored));
    add_to(first, OperatorCode::kAssignVariable, {begun, begun + 1}, {},
           united(schema::AssignVariableOptionsT()));
    variables_.push_back(handle(main, value.name));
    add_to(main, OperatorCode::kReadVariable, {variables_.back()}, {tensor(state.before)},
           united(schema::ReadVariableOptionsT()));
  }
}

void Exporter::end_states() {
  schema::SubGraphT& main = subgraph();
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (graph_.states()[i].after == ir::kAbsent) continue;
    add_to(main, OperatorCode::kAssignVariable, {variables_[i], tensor(graph_.states()[i].after)},
           {}, united(schema::AssignVariableOptionsT()));
  }
}

}  // namespace halftone::formats::circle
