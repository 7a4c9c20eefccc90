// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/inspection.h"

#include <algorithm>
#include <set>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/paths.h"
#include "halftone/formats/model.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/text.h"
#include "halftone/passes/decode_codes.h"
#include "halftone/passes/simplify.h"

namespace halftone {
namespace {

/// Whether a value is the output of a DequantizeLinear.
bool is_dequantized(const ir::Graph& graph, ir::ValueId value) {
  const auto producer = graph.producer(value);
  return producer && std::holds_alternative<ir::DequantizeLinear>(graph.node(*producer).op);
}

/// The value that stores weights: behind a DequantizeLinear, or a Cast of floats of 16 bits.
ir::ValueId stored_behind(const ir::Graph& graph, ir::ValueId weights) {
  const auto producer = graph.producer(weights);
  if (!producer) return weights;
  const ir::Operator& op = graph.node(*producer).op;
  const bool widens =
      std::holds_alternative<ir::DequantizeLinear>(op) || std::holds_alternative<ir::Cast>(op);
  return widens ? graph.node(*producer).inputs[0] : weights;
}

/// Whether a node looks up rows of a float table, not of indices or other integers.
bool is_embedding(const ir::Graph& graph, const ir::Node& node) {
  if (!ir::is_table(node.op) || graph.constant(node.inputs[0]) == nullptr) return false;
  const ir::ValueType& table = graph.value(node.inputs[0]).type;
  return table.encoding.element == ir::ElementType::kFloat32 && table.shape.rank() == 2;
}

bool has_weights(const ir::Graph& graph, const ir::Node& node) {
  return ir::traits_of(node.op).pattern == ir::Pattern::kProduct || is_embedding(graph, node);
}

/// Bits of a layer's input, or of a recurrent layer's states.
int activation_bits(const ir::Graph& graph, const ir::Node& node) {
  if (ir::is_table(node.op)) return 32;
  const auto* states = ir::activation_encoding(node.op);
  if (states == nullptr) return static_cast<int>(ir::number_bits(graph, node.inputs[0]));
  return *states == nullptr ? 32 : (*states)->bits;
}

LayerInfo describe_layer(const ir::Graph& graph, const ir::Node& node) {
  const ir::ValueId weights = node.inputs[weights_input(node.op)];
  LayerInfo layer;
  layer.name = node.name;
  layer.op = std::string(name_of(node.op));
  layer.weights = graph.value(weights).type.to_string();
  layer.activation_bits = activation_bits(graph, node);
  layer.weight_bits = ir::number_bits(graph, weights);
  layer.weight_encoding = weight_encoding_info(graph, node);
  layer.activation_encoding = activation_encoding_info(graph, node);
  const ir::Constant* constant = graph.constant(stored_behind(graph, weights));
  if (constant != nullptr) layer.weight_bytes = storage_bytes(*constant);
  if (!is_dequantized(graph, weights)) layer.arithmetic = ir::arithmetic_of(graph, node);
  return layer;
}

/// One line for each layer that the file has an operator of Halftone's for, although it is float.
std::vector<std::string> warnings_about(const ir::Graph& graph, const std::filesystem::path& path) {
  using Format = formats::ModelFormat;
  const Format format = formats::model_format(path);
  const bool is_onnx = format == Format::kOnnx;
  const std::string own = is_onnx
                              ? "ONNX has no operator for it; written as Recurrent of ai.halftone"
                              : "TFLite and circle have no operator for it; written as the "
                                "custom operator HalftoneRecurrent";
  std::vector<std::string> warnings;
  const std::vector<std::string> names = formats::own_float_layers(graph, format);
  const auto others = names.empty() ? names : formats::own_float_layers(graph, Format::kOnnx);
  for (const std::string& name : names) {
    const bool is_standard = !is_onnx && std::ranges::count(others, name) == 0;
    warnings.push_back("layer '" + name + "': " + own + ", which other runtimes do not know" +
                       (is_standard ? "; write .onnx, which has one" : ""));
  }
  return warnings;
}

Inspection inspect_as(const ir::Graph& graph, const std::filesystem::path& path,
                      std::uintmax_t file_bytes) {
  return inspect(graph, std::string(to_string(formats::model_format(path))), file_bytes);
}

/// Counts operators and parameters, and describes layers, also those in loops.
void add_contents(const ir::Graph& graph, Inspection& result) {
  std::set<ir::ValueId> counted;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    ++result.operators[std::string(name_of(node.op))];
    for (const ir::ValueId input : node.inputs) {
      if (graph.constant(input) != nullptr && counted.insert(input).second) {
        result.parameters += graph.value(input).type.shape.element_count();
      }
    }
    if (has_weights(graph, node)) result.layers.push_back(describe_layer(graph, node));
    if (const auto* loop = std::get_if<ir::Loop>(&node.op)) add_contents(*loop->body, result);
  }
}

}  // namespace

std::vector<ir::NodeId> layers_of(const ir::Graph& graph) {
  std::vector<ir::NodeId> layers;
  for (const ir::NodeId id : graph.topological_order()) {
    if (has_weights(graph, graph.node(id))) layers.push_back(id);
  }
  return layers;
}

Inspection inspect(const ir::Graph& graph, std::string format, std::uintmax_t file_bytes) {
  Inspection result;
  result.format = std::move(format);
  result.file_bytes = file_bytes;
  result.text = ir::to_text(graph);
  for (const ir::ValueId id : graph.untied(graph.inputs())) {
    result.inputs.push_back({graph.value(id).name, graph.value(id).type});
  }
  for (const ir::ValueId id : graph.untied(graph.outputs())) {
    result.outputs.push_back({graph.value(id).name, graph.value(id).type});
  }
  for (const ir::State& state : graph.states()) {
    result.states.push_back({graph.value(state.before).name, graph.value(state.before).type});
  }
  add_contents(graph, result);
  return result;
}

std::vector<NodeWork> work_of(Network network, const std::optional<std::size_t>& batch) {
  const RunGraph run = graph_to_run(std::move(network), batch);
  const ir::Graph& graph = run.graph;
  std::vector<NodeWork> work;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    work.push_back({node.name, std::string(name_of(node.op)), ir::work_of(graph, node, run.batch)});
  }
  return work;
}

Inspection inspect_file(const std::filesystem::path& path, const InspectOptions& options) {
  Network network = load(path, options.import);
  check_read(network);
  std::vector<NodeWork> work;
  if (options.work) work = work_of(network, options.batch);
  const std::uintmax_t file_bytes = network.file_bytes;
  ir::Graph graph = network.graph;
  if (options.simplified) graph = prepared(std::move(network), Purpose::kFit);
  Inspection result = inspect_as(graph, path, file_bytes);
  result.work = std::move(work);
  return result;
}

ir::Graph converted(Network network, bool decoded) {
  const std::string name = network.name;
  ir::Graph graph = prepared(std::move(network), Purpose::kConvert);
  if (decoded) {
    with_context(name, [&] { passes::decode_codes(graph); });
    passes::simplify(graph);
  }
  return graph;
}

Inspection convert(Network network, const std::filesystem::path& output, const ConvertForm& how) {
  formats::model_format(output);  // fails before the work if the format is unknown
  check_output_file(network.name, output);
  ir::Graph graph = converted(std::move(network), how.decoded);
  const std::uintmax_t bytes = save(graph, output, how.form);
  auto warnings = warnings_about(graph, output);
  // What the file holds is another form of the graph.
  if (how.form.is_standard()) graph = prepared(load(output), Purpose::kConvert);
  Inspection result = inspect_as(graph, output, bytes);
  result.warnings = std::move(warnings);
  return result;
}

Inspection convert(const ConvertJob& job) {
  formats::model_format(job.output);  // before a large network is read
  check_output_file(job.input, job.output);
  return convert(load(job.input, job.import), job.output, job.how);
}

}  // namespace halftone
