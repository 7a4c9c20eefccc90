// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/layer_report.h"

#include <limits>

#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/numerics/distortion.h"

namespace halftone::compress {
namespace {

numerics::ValueRange range_of_levels(const numerics::MatrixEncoding& encoding) {
  const numerics::LevelTable table(encoding.levels(0));
  return {table.levels().front(), table.levels().back()};
}

/// The codes that a layer multiplies with: of its input, or of its states. Null if there are none.
const numerics::MatrixEncoding* activation_codes(const ir::Graph& graph, const ir::Node& layer) {
  if (const auto* states = ir::activation_encoding(layer.op)) return states->get();
  return ir::is_table(layer.op) ? nullptr : graph.value(layer.inputs[0]).type.encoding.codes.get();
}

}  // namespace

LayerReport report_layer(const ir::Graph& reference, ir::NodeId layer, const ir::Graph& quantized,
                         ir::NodeId twin) {
  const ir::Node& original = reference.node(layer);
  const std::size_t input = weights_input(original.op);
  const ir::Constant& weights = *reference.constant(original.inputs[input]);
  LayerReport report;
  report.name = original.name;
  report.op = name_of(original.op);
  report.float_bytes = storage_bytes(weights);
  report.encoded_bytes = report.float_bytes;
  report.weight_sqnr_db = std::numeric_limits<double>::infinity();
  if (&reference == &quantized && twin == layer) return report;
  const ir::Node& node = quantized.node(twin);
  if (const auto* states = ir::activation_encoding(node.op)) {
    if (*states != nullptr) report.activation_bits = (*states)->bits;
  } else if (!ir::is_table(node.op)) {
    report.activation_bits = ir::number_bits(quantized, node.inputs[0]);
  }
  if (const numerics::MatrixEncoding* codes = activation_codes(quantized, node)) {
    report.activation_range = range_of_levels(*codes);
  }
  report.weight_bits = ir::number_bits(quantized, node.inputs[input]);
  if (report.weight_bits < 32) {
    const ir::Constant& codes = *quantized.constant(node.inputs[input]);
    report.encoded_bytes = storage_bytes(codes);
    numerics::Distortion distortion;
    distortion.add(std::get<ir::Tensor>(weights).as<float>(), ir::to_float(codes).as<float>());
    report.weight_sqnr_db = distortion.sqnr_db();
  }
  return report;
}

}  // namespace halftone::compress
