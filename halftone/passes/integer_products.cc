// SPDX-License-Identifier: Apache-2.0
// Turns layers of codes into integer layers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "halftone/ir/ops/traits.h"
#include "halftone/passes/rewrite.h"
#include "halftone/passes/use_integers.h"

namespace halftone::passes {
namespace {

using ir::ValueId;

/// A layer and the parts that the pattern matched.
struct Match {
  Codes x;
  Codes w;
  Target target;

  [[nodiscard]] float weight_scale(std::size_t o) const {
    const auto& scales = w.parameters.scales;
    return scales[scales.size() == 1 ? 0 : o];
  }
  /// The scale of the sums of output o.
  [[nodiscard]] double sum_scale(std::size_t o) const {
    return static_cast<double>(x.scale()) * static_cast<double>(weight_scale(o));
  }
};

std::optional<Match> match(const ir::Graph& graph, const ir::Node& layer,
                           const ir::Activation& activation) {
  const auto x = codes_of(graph, layer.inputs[0]);
  const auto w = codes_of(graph, layer.inputs[1], true);
  const auto target = target_of(graph, layer.output, activation);
  if (!x || !w || !target) return std::nullopt;
  if (dense_constant(graph, w->value) == nullptr) return std::nullopt;
  if (w->parameters.scales.size() != 1 && w->parameters.axis != 0) return std::nullopt;
  return Match{*x, *w, *target};
}

/// Whether int32 values with these parameters can be added to the sums directly.
bool are_sums(const ir::AffineParameters& parameters, const Match& match, std::size_t outputs) {
  constexpr double kRelative = 1e-5;  // scales are float32 and their product was rounded
  const std::size_t count = parameters.scales.size();
  for (std::size_t o = 0; o < outputs; ++o) {
    const auto scale = static_cast<double>(parameters.scales[count == 1 ? 0 : o]);
    const double wanted = match.sum_scale(o);
    if (std::abs(scale - wanted) > kRelative * wanted) return false;
  }
  return std::ranges::all_of(parameters.zero_points, [](std::int32_t zero) { return zero == 0; });
}

/// The bias in units of the sums; none if that is impossible.
std::optional<ir::Tensor> bias_of(const ir::Graph& graph, ValueId id, const Match& match) {
  if (const auto* op = computed_by<ir::DequantizeLinear>(graph, id)) {
    const ir::Tensor* codes = dense_constant(graph, graph.node(*graph.producer(id)).inputs[0]);
    if (codes == nullptr || codes->element() != ir::ElementType::kInt32) return std::nullopt;
    if (!are_sums(op->parameters, match, codes->size())) return std::nullopt;
    return codes->clone();
  }
  const ir::Tensor* numbers = float_constant(graph, id);
  if (numbers == nullptr) return std::nullopt;
  ir::Tensor sums(ir::ElementType::kInt32, numbers->shape());
  for (std::size_t o = 0; o < sums.size(); ++o) {
    constexpr double kMax = std::numeric_limits<std::int32_t>::max();
    const double sum =
        std::nearbyint(static_cast<double>(numbers->as<float>()[o]) / match.sum_scale(o));
    if (!(std::abs(sum) <= kMax)) return std::nullopt;
    sums.as<std::int32_t>()[o] = static_cast<std::int32_t>(sum);
  }
  return sums;
}

/// The multipliers from sums to codes. TensorFlow Lite multiplies the scales of uint8 convolutions
/// in float32 (kernel_util.cc, GetQuantizedConvolutionMultipler), others in float64.
std::vector<double> multipliers_of(const Match& match, bool is_fully_connected) {
  const std::size_t count = match.w.parameters.scales.size();
  const bool in_float = match.target.in_integers() && count == 1 && !is_fully_connected &&
                        match.x.element == ir::ElementType::kUint8;
  std::vector<double> multipliers;
  for (std::size_t o = 0; o < count; ++o) {
    const double scale = in_float ? static_cast<double>(match.x.scale() * match.weight_scale(o))
                                  : match.sum_scale(o);
    multipliers.push_back(scale / static_cast<double>(match.target.codes.scale()));
  }
  return multipliers;
}

}  // namespace

bool use_integer_product(ir::Graph& graph, ir::NodeId id) {
  const ir::Node layer = graph.node(id);
  ir::Operator op = layer.op;
  ir::ZeroPoints* zero_points = ir::zero_points(op);
  if (!ir::is_layer(op) || zero_points == nullptr) return false;
  if (*ir::arithmetic(op) != ir::Arithmetic::kAuto) return false;
  ir::Activation* activation = ir::fused_activation(op);
  const auto found = match(graph, layer, *activation);
  if (!found) return false;
  const bool is_fully_connected = std::holds_alternative<ir::FullyConnected>(op);
  // LiteRT's FULLY_CONNECTED rounds sum * multiplier once, its convolutions in two steps.
  auto requantize =
      requantize_to(found->target, multipliers_of(*found, is_fully_connected), is_fully_connected);
  if (!requantize) return false;
  std::vector<ValueId> inputs = {found->x.value, found->w.value};
  if (layer.inputs.size() > 2 && layer.inputs[2] != ir::kAbsent) {
    auto bias = bias_of(graph, layer.inputs[2], *found);
    if (!bias) return false;
    const std::string name = graph.value(layer.inputs[2]).name;
    inputs.push_back(graph.add_constant(name + "/sums", std::move(*bias)));
  }
  *activation = {};
  *zero_points = {found->x.zero_point(), found->w.parameters.zero_points};
  const ValueId sums = graph.add_node(layer.name, std::move(op), std::move(inputs));
  graph.replace_node(found->target.quantize, std::move(*requantize), {sums});
  return true;
}

}  // namespace halftone::passes
