// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/layer_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::formats::onnx {
namespace {

using onnx_pb::GraphProto;
using onnx_pb::NodeProto;

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScopes = "pkg.torch.onnx.name_scopes";

/// The values that are an initializer in another form, with its name.
using Roots = std::map<std::string, std::string>;

/// @param roots  those of the enclosing graphs
Roots roots_of(const GraphProto& graph, Roots roots) {
  static constexpr std::array<std::string_view, 6> kForms = {
      "Transpose", "Identity", "Cast", "DequantizeLinear", "Reshape", "Unsqueeze"};
  for (const auto& initializer : graph.initializer()) {
    roots.emplace(initializer.name(), initializer.name());
  }
  for (const NodeProto& node : graph.node()) {
    if (node.input_size() == 0 || node.output_size() == 0) continue;
    const auto root = roots.find(node.input(0));
    const bool is_form = std::ranges::find(kForms, node.op_type()) != kForms.end();
    if (is_form && root != roots.end()) roots.emplace(node.output(0), root->second);
  }
  return roots;
}

/// The name of a layer's weights in the file; empty for nodes that are no layer.
std::string weights_of(const NodeProto& node, const Roots& roots) {
  static const std::map<std::string_view, std::vector<int>> weight_inputs = {
      {"Conv", {1}},      {"ConvTranspose", {1}}, {"Gemm", {1, 0}},
      {"MatMul", {1, 0}}, {"Einsum", {1, 0}},     {"LSTM", {1}},
      {"GRU", {1}},       {"RNN", {1}},           {"Gather", {0}}};
  const auto inputs = weight_inputs.find(node.op_type());
  if (inputs == weight_inputs.end()) return "";
  for (const int i : inputs->second) {
    const auto root = i < node.input_size() ? roots.find(node.input(i)) : roots.end();
    if (root == roots.end()) continue;
    const bool is_table = node.op_type() == "Gather";  // others take extents apart
    return is_table && !root->second.ends_with(kWeight) ? "" : root->second;
  }
  return "";
}

/// The last but one of ['', 'layer1', 'layer1.0', 'conv2d']: the rest are modules around it, and
/// the operation.
std::string module_in(const std::string& scopes) {
  std::vector<std::string> names;
  for (std::size_t begin = scopes.find('\''); begin != std::string::npos;) {
    const std::size_t end = scopes.find('\'', begin + 1);
    if (end == std::string::npos) break;
    names.push_back(scopes.substr(begin + 1, end - begin - 1));
    begin = scopes.find('\'', end + 1);
  }
  return names.size() < 2 ? "" : names[names.size() - 2];
}

/// The module of /layer1/layer1.0/conv1/Conv, "layer1.0.conv1". A child of a list of modules
/// repeats the list's name.
std::string module_of_path(const std::string& path) {
  std::string module;
  std::string last;
  for (std::size_t begin = 1; begin < path.size();) {
    const std::size_t end = path.find('/', begin);
    if (end == std::string::npos) break;
    const std::string part = path.substr(begin, end - begin);
    if (!last.empty() && part.starts_with(last + ".")) module.resize(module.size() - last.size());
    if (!module.empty() && module.back() != '.') module += '.';
    module += part;
    last = part;
    begin = end + 1;
  }
  return module;
}

const std::string* scopes_of(const NodeProto& node) {
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() == kScopes) return &entry.value();
  }
  return nullptr;
}

/// Whether an exporter made the name up: "", "node_Conv_276" or "/features/features.0/Conv".
bool is_made_up(const NodeProto& node) {
  const std::string& name = node.name();
  if (name.empty() || scopes_of(node) != nullptr) return true;
  const std::size_t slash = name.rfind('/');
  return name.front() == '/' && slash + 1 < name.size() &&
         std::isupper(static_cast<unsigned char>(name[slash + 1])) != 0;
}

/// Whether an exporter numbered a constant: "onnx::MatMul_45", "val_12", "12".
bool is_numbered(const std::string& name) {
  const bool is_number = std::ranges::all_of(
      name, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  return is_number || name.starts_with("onnx::") || name.starts_with("val_") ||
         name.find('/') != std::string::npos;
}

/// The name of a layer; empty if it has none better.
std::string layer_name(const NodeProto& node, const std::string& weights) {
  if (weights.ends_with(kWeight)) return weights.substr(0, weights.size() - kWeight.size());
  const std::string* scopes = scopes_of(node);
  std::string module = scopes != nullptr              ? module_in(*scopes)
                       : node.name().starts_with('/') ? module_of_path(node.name())
                                                      : "";
  if (!module.empty()) return module;
  return is_numbered(weights) ? "" : weights;
}

/// Calls visit(subgraph) for the subgraphs of a node.
template <typename Visit>
void for_each_subgraph(NodeProto& node, const Visit& visit) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) visit(*attribute.mutable_g());
  }
}

void add_names(GraphProto& graph, std::set<std::string>& taken) {
  for (NodeProto& node : *graph.mutable_node()) {
    taken.insert(node.name());
    for_each_subgraph(node, [&](GraphProto& inner) { add_names(inner, taken); });
  }
}

/// @param outer  the roots of the enclosing graphs
/// @param taken  all names of nodes
void name_layers(GraphProto& graph, const Roots& outer, std::set<std::string>& taken) {
  const Roots roots = roots_of(graph, outer);
  for (NodeProto& node : *graph.mutable_node()) {
    for_each_subgraph(node, [&](GraphProto& inner) { name_layers(inner, roots, taken); });
    const std::string weights = is_made_up(node) ? weights_of(node, roots) : "";
    const std::string wanted = weights.empty() ? "" : layer_name(node, weights);
    if (wanted.empty()) continue;
    std::string name = wanted;
    for (int number = 1; !taken.insert(name).second; ++number) {
      name = wanted + "_" + std::to_string(number);
    }
    node.set_name(name);
  }
}

}  // namespace

void name_layers(GraphProto& graph) {
  std::set<std::string> taken;
  add_names(graph, taken);
  name_layers(graph, {}, taken);
}

}  // namespace halftone::formats::onnx
