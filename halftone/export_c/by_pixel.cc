// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/by_pixel.h"

#include <algorithm>
#include <variant>

#include "halftone/ir/layer_arithmetic.h"

namespace halftone::export_c {
namespace {

using ir::ValueId;

constexpr std::size_t kResidual = 3;  // input of Conv

bool has_residual(const ir::Node& node) {
  return node.inputs.size() > kResidual && node.inputs[kResidual] != ir::kAbsent;
}

/// A convolution that write_code_conv() writes.
bool is_code_conv(const NodeToWrite& what) {
  const ir::Node& node = what.node;
  if (!std::holds_alternative<ir::Conv>(node.op) ||
      what.graph.constant(node.inputs[1]) == nullptr) {
    return false;
  }
  if (what.graph.value(node.inputs[1]).type.encoding.codes == nullptr) return false;
  const auto arithmetic = ir::arithmetic_of(what.graph, node);
  return arithmetic == ir::Arithmetic::kBits || arithmetic == ir::Arithmetic::kIntegers;
}

bool is_mean_of_image(const ir::Graph& graph, const ir::Node& node) {
  const auto* pool = std::get_if<ir::Pool>(&node.op);
  if (pool == nullptr || pool->kind != ir::PoolKind::kAverage) return false;
  const ir::Shape& x = graph.value(node.inputs[0]).type.shape;
  const ir::Shape& y = graph.value(node.output).type.shape;
  for (std::size_t axis = 0; axis < pool->kernel.size(); ++axis) {
    const bool is_whole = pool->kernel[axis] == x[axis + 1] && y[axis + 1] == 1 &&
                          pool->window.dilations[axis] == 1 && pool->window.pads_before[axis] == 0;
    if (!is_whole || pool->window.pads_after[axis] != 0) return false;
  }
  return x[0] == 1;
}

/// Whether a node takes a value pixel by pixel.
bool takes_pixels(const NodeToWrite& reader, ValueId value) {
  const ir::Node& node = reader.node;
  if (std::holds_alternative<ir::Encode>(node.op)) return true;
  if (is_mean_of_image(reader.graph, node)) return true;
  return is_code_conv(reader) && has_residual(node) && node.inputs[kResidual] == value &&
         std::ranges::count(node.inputs, value) == 1;
}

/// Whether nothing but pixels of the output of a node are read.
bool is_by_pixel(const NodeToWrite& what, std::span<const NodeToWrite> nodes) {
  const ir::ValueType& type = what.graph.value(what.output).type;
  if (!is_code_conv(what) || !type.is_dense(ir::ElementType::kFloat32) || type.shape[0] != 1) {
    return false;
  }
  std::size_t num_readers = 0;
  for (const NodeToWrite& reader : nodes) {
    if (std::ranges::count(reader.inputs, what.output) == 0) continue;
    ++num_readers;
    if (!takes_pixels(reader, what.output)) return false;
  }
  const std::size_t max_readers = has_residual(what.node) ? 1 : 2;
  return num_readers > 0 && num_readers <= max_readers &&
         std::ranges::count(what.graph.outputs(), what.output) == 0;
}

}  // namespace

std::map<ValueId, std::size_t> functions_by_pixel(std::span<const NodeToWrite> nodes) {
  std::map<ValueId, std::size_t> functions;
  std::size_t index = 0;
  for (const NodeToWrite& what : nodes) {
    if (is_by_pixel(what, nodes)) functions[what.output] = index;
    if (!what.is_alias()) ++index;
  }
  return functions;
}

std::vector<Run> runs_of(std::span<const NodeToWrite> nodes,
                         std::span<const LayerFunction> layers) {
  std::vector<Run> runs(nodes.size());
  for (std::size_t n = nodes.size(); n-- > 0;) {
    runs[n] = {n, n};
    if (!layers[n].is_by_pixel) continue;
    runs[n] = {nodes.size(), 0};
    for (std::size_t r = n + 1; r < nodes.size(); ++r) {
      if (std::ranges::count(nodes[r].inputs, nodes[n].output) == 0) continue;
      runs[n] = {std::min(runs[n].first, runs[r].first), std::max(runs[n].last, runs[r].last)};
    }
  }
  return runs;
}

}  // namespace halftone::export_c
