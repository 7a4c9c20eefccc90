// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/accel/crossbar/layer.h"
#include "halftone/accel/crossbar/mapping.h"
#include "halftone/base/error.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/runtime/value.h"

namespace halftone::crossbar {
namespace {

constexpr std::size_t kWeights = 1;

bool has_weights(const ir::Graph& graph, const ir::Node& node) {
  return ir::arithmetic(node.op) != nullptr &&
         graph.value(node.inputs[kWeights]).type.encoding.element == ir::ElementType::kFloat32;
}

/// Rows of inputs that a layer multiplies, for one sample.
std::size_t positions_of(const ir::Graph& graph, const ir::Node& node) {
  return runtime::row_extent(graph.value(node.output).type.shape.with_batch(1)).rows;
}

LayerUse use_of(const ir::Graph& graph, const ir::Node& node, const CrossbarDevice& device) {
  LayerUse use;
  use.name = node.name;
  use.op = std::string(ir::name_of(node.op));
  if (auto reason = why_digital(graph, node)) {
    use.digital = std::move(*reason);
    return use;
  }
  const ir::MatrixExtent extent = ir::matrix_extent(graph.value(node.inputs[kWeights]).type.shape);
  const ir::LayerCodes codes = ir::layer_codes(graph, node);
  const auto* conv = std::get_if<ir::Conv>(&node.op);
  const std::size_t groups = conv == nullptr ? 1 : static_cast<std::size_t>(conv->groups);
  const Mapping mapping(device, extent.cols, extent.rows / groups, codes.weight_bits);
  use.inputs = extent.cols;
  use.outputs = extent.rows;
  use.weight_bits = codes.weight_bits;
  use.input_bits = codes.input_bits;
  use.arrays = groups * mapping.arrays();
  use.cells = groups * mapping.cells();
  const double reads = static_cast<double>(positions_of(graph, node)) * codes.input_bits;
  use.conversions = reads * static_cast<double>(groups * mapping.conversions());
  use.joules = reads * static_cast<double>(use.cells) * device.costs.cell_joules +
               use.conversions * device.costs.conversion_joules;
  use.seconds =
      reads * static_cast<double>(mapping.conversion_steps()) * device.costs.conversion_seconds;
  return use;
}

/// Kernels on arrays for the layers of the network, which has the lower ids of values; the digital
/// network beside it has the others.
runtime::BitLayerFactory on_arrays(std::size_t num_values, const CrossbarDevice& device,
                                   std::uint64_t seed) {
  return [=](const runtime::NodeContext& context) -> std::optional<runtime::Kernel> {
    if (static_cast<std::size_t>(context.node.inputs[kWeights]) >= num_values) return std::nullopt;
    if (why_digital(context.graph, context.node)) return std::nullopt;
    return layer_kernel(context, device, seed);
  };
}

void set_spread(NetworkResult& result) {
  const auto count = static_cast<double>(result.values.size());
  for (const double value : result.values) result.mean += value / count;
  double squares = 0;
  for (const double value : result.values) squares += std::pow(value - result.mean, 2);
  if (result.values.size() > 1) result.deviation = std::sqrt(squares / (count - 1));
}

}  // namespace

std::optional<std::string> why_digital(const ir::Graph& graph, const ir::Node& node) {
  if (auto reason = ir::why_not(ir::Arithmetic::kBits, graph, node)) return reason;
  if (ir::is_recurrent(node.op)) return "its inputs are its own states";
  const auto* conv = std::get_if<ir::Conv>(&node.op);
  const ir::Shape& weights = graph.value(node.inputs[kWeights]).type.shape;
  if (conv != nullptr && ir::is_depthwise(*conv, weights)) {
    return "an output has few inputs: those of a channel";
  }
  return std::nullopt;
}

std::vector<LayerUse> layer_uses(const ir::Graph& graph, const CrossbarDevice& device) {
  std::vector<LayerUse> uses;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!has_weights(graph, node)) continue;
    uses.push_back(with_context(ir::describe(node), [&] { return use_of(graph, node, device); }));
  }
  return uses;
}

void check_any_mapped(const std::vector<LayerUse>& layers, const std::string& network) {
  if (std::ranges::any_of(layers, [](auto& use) { return use.digital.empty(); })) return;
  fail(ErrorKind::kUnsupported,
       network + ": no layer can be mapped on arrays" +
           (layers.empty() ? std::string() : "; '" + layers[0].name + "': " + layers[0].digital));
}

ir::Graph with_bits(ir::Graph graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!has_weights(graph, node) || why_digital(graph, node)) continue;
    ir::Operator op = node.op;
    *ir::arithmetic(op) = ir::Arithmetic::kBits;
    graph.replace_node(id, std::move(op), node.inputs);
  }
  return graph;
}

NetworkResult evaluate(const ir::Graph& graph, const data::Dataset& data,
                       const CrossbarDevice& device, const NetworkOptions& options) {
  device.check();
  if (options.num_seeds == 0) fail(ErrorKind::kUsage, "seeds: expected at least 1, found 0");
  const ir::Graph digital = with_bits(graph);
  NetworkResult result;
  result.layers = layer_uses(digital, device);
  result.is_equal = true;
  check_any_mapped(result.layers, options.evaluate.network);
  const std::size_t num_seeds = device.is_random() ? options.num_seeds : 1;
  for (std::size_t s = 0; s < num_seeds; ++s) {
    compress::EvaluateSettings how = options.evaluate;
    how.execution.bit_layers = on_arrays(digital.num_values(), device, options.seed + s);
    const compress::Evaluation found = compress::evaluate(digital, data, &digital, how);
    result.metric = found.metric;
    result.samples = found.samples;
    result.digital = found.reference->value;
    result.values.push_back(found.value);
    result.agreement += found.reference->agreement / static_cast<double>(num_seeds);
    result.is_equal = result.is_equal && std::isinf(found.reference->sqnr_db);
  }
  set_spread(result);
  return result;
}

}  // namespace halftone::crossbar
