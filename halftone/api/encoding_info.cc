// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/encoding_info.h"

#include <algorithm>
#include <variant>

#include "halftone/ir/operator.h"
#include "halftone/ir/ops/encoding.h"
#include "halftone/ir/ops/traits.h"

namespace halftone {
namespace {

void widen(std::optional<Ends>& ends, double low, double high) {
  if (!ends) ends = {low, high};
  ends->low = std::min(ends->low, low);
  ends->high = std::max(ends->high, high);
}

EncodingInfo info_of(const numerics::MatrixEncoding& encoding) {
  EncodingInfo info{std::string(system_name(encoding)), encoding.bits,
                    std::string(to_string(encoding.granularity)), encoding.group_size};
  const bool has_scales = encoding.codebook != nullptr;
  if (has_scales) info.num_scales = encoding.num_blocks();
  for (std::size_t block = 0; block < encoding.num_blocks(); ++block) {
    const numerics::Levels levels = encoding.levels(block);
    if (!has_scales) {
      const numerics::LevelTable table(levels);
      widen(info.range, table.levels().front(), table.levels().back());
      continue;
    }
    const double scale = levels.scale();
    for (const double level :
         {encoding.codebook->sorted().front(), encoding.codebook->sorted().back()}) {
      const double value = scale * level + levels.offset();
      widen(info.range, value, value);
    }
    widen(info.scale, scale, scale);
    if (encoding.has_offset && scale != 0) {
      widen(info.zero_point, -levels.offset() / scale, -levels.offset() / scale);
    }
  }
  return info;
}

/// The lowest and the highest number of an integer type.
Ends integers_of(ir::ElementType element) {
  if (element == ir::ElementType::kUint8) return {0, 255};
  if (element == ir::ElementType::kInt8) return {-128, 127};
  return {-2147483648.0, 2147483647.0};
}

EncodingInfo info_of(const ir::AffineParameters& parameters, ir::ElementType element) {
  EncodingInfo info{std::string(to_string(element)), static_cast<int>(8 * size_bytes(element)),
                    parameters.scales.size() == 1 ? "tensor" : "channel"};
  info.num_scales = parameters.scales.size();
  const Ends codes = integers_of(element);
  for (std::size_t i = 0; i < parameters.scales.size(); ++i) {
    const double scale = parameters.scales[i];
    const double zero = parameters.zero_points[i];
    widen(info.scale, scale, scale);
    widen(info.zero_point, zero, zero);
    widen(info.range, scale * (codes.low - zero), scale * (codes.high - zero));
  }
  return info;
}

EncodingInfo info_of(const ir::FakeQuantize& rounding) {
  return {std::string(rounding.system->name), rounding.bits,
          std::string(to_string(rounding.blocks.granularity)), rounding.blocks.group_size};
}

std::optional<EncodingInfo> info_of(const ir::Graph& graph, ir::ValueId value) {
  if (value == ir::kAbsent) return std::nullopt;
  const ir::Encoding& encoding = graph.value(value).type.encoding;
  if (encoding.codes != nullptr) return info_of(*encoding.codes);
  const auto producer = graph.producer(value);
  if (!producer) return std::nullopt;
  const ir::Node& node = graph.node(*producer);
  if (const auto* affine = std::get_if<ir::DequantizeLinear>(&node.op)) {
    return info_of(affine->parameters, graph.value(node.inputs[0]).type.encoding.element);
  }
  if (const auto* rounding = std::get_if<ir::FakeQuantize>(&node.op)) return info_of(*rounding);
  return std::nullopt;
}

}  // namespace

std::optional<EncodingInfo> weight_encoding_info(const ir::Graph& graph, const ir::Node& layer) {
  return info_of(graph, layer.inputs[weights_input(layer.op)]);
}

std::optional<EncodingInfo> activation_encoding_info(const ir::Graph& graph,
                                                     const ir::Node& layer) {
  if (ir::is_table(layer.op)) return std::nullopt;
  const auto* states = ir::activation_encoding(layer.op);
  if (states == nullptr) return info_of(graph, layer.inputs[0]);
  return *states == nullptr ? std::nullopt : std::optional(info_of(**states));
}

}  // namespace halftone
