// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/subgraph.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::AttributeProto;
using onnx_pb::FunctionProto;
using onnx_pb::GraphProto;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;

constexpr int kMaxDepth = 32;
/// Budget charged for each inlined node, because functions that call each other repeatedly can
/// expand to very many nodes.
constexpr std::size_t kInlinedNodeBytes = 1024;

/// Increments the nesting depth during its lifetime.
class Level {
 public:
  explicit Level(ImportState& state) : state_(state) {
    if (++state_.depth > kMaxDepth) {
      --state_.depth;
      fail(ErrorKind::kUnsupported, "nested graphs and functions: expected at most " +
                                        std::to_string(kMaxDepth) + " levels");
    }
  }
  ~Level() { --state_.depth; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  ImportState& state_;
};

/// Checks that no output of a node has a value before the node is imported. Otherwise an output
/// that the node does not set would go unnoticed.
void check_outputs(const ImportState& state, const NodeProto& proto) {
  std::set<std::string> names;
  for (const std::string& output : proto.output()) {
    if (output.empty()) continue;
    if (state.bindings.contains(output) || !names.insert(output).second) {
      fail(ErrorKind::kFormat, describe(proto) + ": value '" + output + "' is defined twice");
    }
  }
}

void build_node(ImportState& state, const NodeProto& proto) {
  if (const FunctionProto* function = find_function(state, proto)) {
    inline_function(state, *function, proto);
    return;
  }
  NodeBuilder node(state, proto);
  if (evaluate_integers(node)) return;
  const Builder build = find_builder(proto.domain(), proto.op_type());
  if (build == nullptr) NodeBuilder::unsupported("an unknown operator");
  build(node);
}

Binding binding_of(const ImportState& state, const std::string& name) {
  const auto found = state.bindings.find(name);
  if (found == state.bindings.end()) {
    fail(ErrorKind::kFormat, "output '" + name + "' is not defined");
  }
  return found->second;
}

/// The attribute of a call, or its default in the function; null if there is neither.
const AttributeProto* argument(const FunctionProto& function, const NodeProto& call,
                               const std::string& name) {
  const auto given = std::ranges::find(call.attribute(), name, &AttributeProto::name);
  if (given != call.attribute().end()) return &*given;
  const auto fallback = std::ranges::find(function.attribute_proto(), name, &AttributeProto::name);
  return fallback == function.attribute_proto().end() ? nullptr : &*fallback;
}

/// Replaces references to the attributes of a call by their values.
void resolve_attributes(NodeProto& node, const FunctionProto& function, const NodeProto& call) {
  auto& attributes = *node.mutable_attribute();
  for (int i = 0; i < attributes.size();) {
    AttributeProto& attribute = *attributes.Mutable(i);
    if (attribute.has_g()) {
      for (NodeProto& inner : *attribute.mutable_g()->mutable_node()) {
        resolve_attributes(inner, function, call);
      }
    }
    if (!attribute.ref_attr_name().empty()) {
      const AttributeProto* value = argument(function, call, attribute.ref_attr_name());
      if (value == nullptr) {
        attributes.DeleteSubrange(i, 1);
        continue;
      }
      const std::string name = attribute.name();
      attribute = *value;
      attribute.set_name(name);
    }
    ++i;
  }
}

/// The bindings of a function's inputs.
std::unordered_map<std::string, Binding> arguments(const ImportState& state,
                                                   const FunctionProto& function,
                                                   const NodeProto& call) {
  if (call.input_size() > function.input_size()) {
    fail(ErrorKind::kFormat, "expected at most " + std::to_string(function.input_size()) +
                                 " inputs, found " + std::to_string(call.input_size()));
  }
  std::unordered_map<std::string, Binding> bindings;
  for (int i = 0; i < call.input_size(); ++i) {
    if (call.input(i).empty()) continue;
    bindings.insert_or_assign(function.input(i), binding_of(state, call.input(i)));
  }
  return bindings;
}

}  // namespace

void add_initializers(ImportState& state, GraphProto& graph) {
  if (graph.sparse_initializer_size() > 0) {
    fail(ErrorKind::kUnsupported,
         "sparse initializer '" + graph.sparse_initializer(0).values().name() + "'");
  }
  for (TensorProto& proto : *graph.mutable_initializer()) {
    with_context("initializer '" + proto.name() + "'",
                 [&] { state.bind(proto.name(), state.add_constant(proto.name(), proto)); });
    // The graph now has its own copy.
    proto.clear_raw_data();
  }
}

void add_node(ImportState& state, const NodeProto& proto) {
  check_outputs(state, proto);
  with_context(describe(proto), [&] {
    build_node(state, proto);
    for (const std::string& output : proto.output()) {
      if (output.empty() || state.bindings.contains(output)) continue;
      state.bind(output, Unavailable{"an output of " + describe(proto) + " that is not supported"});
    }
  });
}

const FunctionProto* find_function(const ImportState& state, const NodeProto& call) {
  const auto found = state.functions.find({call.domain(), call.op_type()});
  return found == state.functions.end() ? nullptr : found->second;
}

std::vector<Binding> inline_graph(ImportState& state, const GraphProto& graph,
                                  const std::vector<std::pair<std::string, Binding>>& arguments) {
  const Level level(state);
  state.charge(kInlinedNodeBytes * static_cast<std::size_t>(graph.node_size()));
  std::vector<std::string> names;
  std::vector<std::string>* outer = std::exchange(state.scope, &names);
  for (const auto& [name, binding] : arguments) state.bind(name, binding);
  GraphProto copy = graph;
  add_initializers(state, copy);
  for (const NodeProto& node : graph.node()) add_node(state, node);
  std::vector<Binding> outputs;
  for (const auto& output : graph.output()) {
    outputs.push_back(binding_of(state, output.name()));
  }
  state.scope = outer;
  for (const std::string& name : names) state.bindings.erase(name);
  return outputs;
}

void inline_function(ImportState& state, const FunctionProto& function, const NodeProto& call) {
  const Level level(state);
  state.charge(kInlinedNodeBytes * static_cast<std::size_t>(function.node_size()));
  auto outer = std::exchange(state.bindings, arguments(state, function, call));
  auto* scope = std::exchange(state.scope, nullptr);
  auto opsets = state.opsets;
  for (const auto& opset : function.opset_import()) {
    state.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
  }
  for (const NodeProto& body : function.node()) {
    NodeProto node = body;
    resolve_attributes(node, function, call);
    node.set_name(name_of(call) + "/" + name_of(body));
    add_node(state, node);
  }
  std::vector<Binding> outputs;
  for (const std::string& output : function.output()) {
    outputs.push_back(binding_of(state, output));
  }
  state.bindings = std::move(outer);
  state.scope = scope;
  state.opsets = std::move(opsets);
  for (int i = 0; i < std::min(call.output_size(), function.output_size()); ++i) {
    if (!call.output(i).empty()) {
      state.bind(call.output(i), outputs[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace halftone::formats::onnx
