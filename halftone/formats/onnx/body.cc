// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/body.h"

#include <set>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/finite_constants.h"
#include "halftone/formats/onnx/subgraph.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::GraphProto;

/// All names that a graph and its subgraphs read, without those that it defines.
void add_read_names(const GraphProto& graph, std::set<std::string> defined,
                    std::set<std::string>& read) {
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& initializer : graph.initializer()) defined.insert(initializer.name());
  const auto add = [&](const std::string& name) {
    if (!name.empty() && !defined.contains(name)) read.insert(name);
  };
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) add(input);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add_read_names(attribute.g(), defined, read);
    }
    defined.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.output()) add(output.name());
}

}  // namespace

BodyImport::BodyImport(ImportState& outer, std::string loop)
    : outer_(outer), loop_(std::move(loop)) {
  state_.opsets = outer.opsets;
  state_.rounds_values = outer.rounds_values;
  state_.external = outer.external;
  state_.functions = outer.functions;
  state_.depth = outer.depth;
  state_.budget_bytes = outer.budget_bytes;
  state_.max_iterations = outer.max_iterations;
}

BodyImport::~BodyImport() { outer_.budget_bytes = state_.budget_bytes; }

void BodyImport::add_input(const std::string& name, const ir::ValueType& type) {
  state_.bind(name, state_.graph.add_input(name, type));
}

void BodyImport::add_input(const std::string& name, const ir::ValueType& type, ir::ValueId of) {
  add_input(name, type);
  const auto narrow = outer_.widened.find(of);
  if (narrow == outer_.widened.end()) return;
  state_.widened.emplace(state_.graph.inputs().back(), narrow->second);
}

void BodyImport::bind(const std::string& name, Binding binding) {
  state_.bind(name, std::move(binding));
}

std::vector<ir::ValueId> BodyImport::import(const GraphProto& proto) {
  capture(proto);
  GraphProto named = proto;
  for (auto& node : *named.mutable_node()) {
    // Files of our own have such names.
    if (!name_of(node).starts_with(loop_ + "/")) node.set_name(loop_ + "/" + name_of(node));
  }
  std::vector<ir::ValueId> outputs;
  std::vector<Binding> bindings = inline_graph(state_, named);
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    outputs.push_back(state_.value(proto.output(static_cast<int>(i)).name(), bindings[i]));
  }
  if (!state_.graph.definitions().empty()) {
    fail(ErrorKind::kUnsupported, "extents that each iteration computes");
  }
  check_finite(state_.graph);
  return outputs;
}

void BodyImport::capture(const GraphProto& proto) {
  std::set<std::string> names;
  add_read_names(proto, {}, names);
  for (const std::string& name : names) capture_name(name);
}

void BodyImport::capture_name(const std::string& name) {
  const auto found = outer_.bindings.find(name);
  if (found == outer_.bindings.end() || state_.bindings.contains(name)) return;
  Binding binding = found->second;
  if (auto* id = std::get_if<ir::ValueId>(&binding)) *id = captured_value(*id);
  if (auto* rounded = std::get_if<RoundedFloat>(&binding)) rounded->x = captured_value(rounded->x);
  if (auto* sequence = std::get_if<Sequence>(&binding)) {
    for (ir::ValueId& id : *sequence) id = captured_value(id);
  }
  state_.bind(name, std::move(binding));
}

ir::ValueId BodyImport::captured_value(ir::ValueId id) {
  const auto [known, is_new] = inner_.try_emplace(id);
  if (!is_new) return known->second;
  const ir::Value& value = outer_.graph.value(id);
  ir::ValueId inner{};
  if (value.constant != nullptr) {
    inner = state_.graph.add_constant(value.name, value.constant);
  } else if (outer_.reads_halves(id)) {
    const ir::ValueId stored = outer_.graph.node(*outer_.graph.producer(id)).inputs[0];
    inner = state_.graph.add_node(value.name, ir::Cast{ir::ElementType::kFloat32},
                                  {captured_value(stored)});
  } else {
    inner = state_.graph.add_input(value.name, value.type);
    captured_.push_back(id);
  }
  const auto narrow = outer_.widened.find(id);
  if (narrow != outer_.widened.end()) state_.widened.emplace(inner, narrow->second);
  inner_[id] = inner;
  return inner;
}

bool holds_true(const ir::Graph& graph, ir::ValueId id) {
  const ir::Constant* constant = graph.constant(id);
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  return tensor != nullptr && tensor->size() == 1 && tensor->bytes()[0] != std::byte{0};
}

}  // namespace halftone::formats::onnx
