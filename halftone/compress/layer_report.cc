// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/layer_report.h"

#include <algorithm>
#include <limits>
#include <set>

#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/numerics/distortion.h"

namespace halftone::compress {
namespace {

v0::LevelRange range_of_levels(const numerics::MatrixEncoding& encoding) {
  const numerics::LevelTable table(encoding.levels(0));
  return {table.levels().front(), table.levels().back()};
}

/// The codes that a layer multiplies with: of its input, or of its states. Null if there are none.
const numerics::MatrixEncoding* activation_codes(const ir::Graph& graph, const ir::Node& layer) {
  if (const auto* states = ir::activation_encoding(layer.op)) return states->get();
  return ir::is_table(layer.op) ? nullptr : graph.value(layer.inputs[0]).type.encoding.codes.get();
}

/// The error of codes, some rows at a time: a table may be larger than what memory is left.
numerics::Distortion weight_distortion(const ir::Tensor& weights, const ir::Constant& constant) {
  constexpr std::size_t kElements = std::size_t{1} << 22;
  numerics::Distortion distortion;
  const auto* codes = std::get_if<ir::EncodedTensor>(&constant);
  if (codes == nullptr) {
    distortion.add(weights.as<float>(), ir::to_float(constant).as<float>());
    return distortion;
  }
  const auto [rows, cols] = ir::matrix_extent(codes->shape);
  const std::size_t blocks = codes->encoding->granularity == numerics::Granularity::kTensor
                                 ? 0
                                 : codes->encoding->groups_per_row(cols);
  const std::size_t step = std::max<std::size_t>(kElements / std::max<std::size_t>(cols, 1), 1);
  for (std::size_t first = 0; first < rows; first += step) {
    const std::size_t count = std::min(step, rows - first);
    const numerics::MatrixEncoding own =
        blocks == 0 ? *codes->encoding : codes->encoding->slice(first * blocks, count * blocks);
    distortion.add(weights.as<float>().subspan(first * cols, count * cols),
                   numerics::decode(codes->codes.slice(first, count), own));
  }
  return distortion;
}

}  // namespace

LayerReport report_layer(const ir::Graph& reference, ir::NodeId layer, const ir::Graph& quantized,
                         ir::NodeId counterpart) {
  const ir::Node& original = reference.node(layer);
  const std::size_t input = weights_input(original.op);
  const ir::Constant& weights = *reference.constant(original.inputs[input]);
  LayerReport report;
  report.name = original.name;
  report.op = name_of(original.op);
  report.float_bytes = storage_bytes(weights);
  report.encoded_bytes = report.float_bytes;
  report.weight_sqnr_db = std::numeric_limits<double>::infinity();
  if (&reference == &quantized && counterpart == layer) return report;
  const ir::Node& node = quantized.node(counterpart);
  if (const auto* states = ir::activation_encoding(node.op)) {
    if (*states != nullptr) report.activation_bits = (*states)->bits;
  } else if (!ir::is_table(node.op)) {
    report.activation_bits = static_cast<int>(ir::number_bits(quantized, node.inputs[0]));
  }
  if (const numerics::MatrixEncoding* codes = activation_codes(quantized, node)) {
    report.activation_range = range_of_levels(*codes);
  }
  report.weight_bits = ir::number_bits(quantized, node.inputs[input]);
  if (report.weight_bits < 32) {
    const ir::Constant& codes = *quantized.constant(node.inputs[input]);
    report.encoded_bytes = storage_bytes(codes);
    report.weight_sqnr_db = weight_distortion(std::get<ir::Tensor>(weights), codes).sqnr_db();
    ir::release_pages(weights);
  }
  return report;
}

namespace {

/// @param counted  the constants that have been counted; those of this graph are added
std::uint64_t uncounted_bytes(const ir::Graph& graph, std::set<const ir::Constant*>& counted) {
  std::uint64_t bytes = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (const auto* loop = std::get_if<ir::Loop>(&node.op)) {
      bytes += uncounted_bytes(*loop->body, counted);
    }
    for (const ir::ValueId input : node.inputs) {
      const ir::Constant* constant = input == ir::kAbsent ? nullptr : graph.constant(input);
      if (constant != nullptr && counted.insert(constant).second) bytes += storage_bytes(*constant);
    }
  }
  return bytes;
}

}  // namespace

std::uint64_t constant_bytes(const ir::Graph& graph) {
  std::set<const ir::Constant*> counted;
  return uncounted_bytes(graph, counted);
}

}  // namespace halftone::compress
