// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/ops/convolution_codes.h"

#include <algorithm>

#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/ops/linear_cost.h"

namespace halftone::runtime {
namespace {

constexpr std::size_t kMostAxes = 3;
/// Codes of the pixels that one line of outputs sees, which a kernel keeps in its scratch memory.
constexpr double kMostSeen = 1 << 26;
/// Ways in which taps may lie in the padding, times taps: what packing goes through.
constexpr double kMostPatternTaps = 1 << 24;

/// Whether windows are of a size that kernels are made for.
bool has_usual_window(const ir::Graph& graph, const ir::Node& node) {
  const ir::Window& window = std::get<ir::Conv>(node.op).window;
  const ir::Shape& w = graph.value(node.inputs[1]).type.shape;
  const ir::Shape& y = graph.value(node.output).type.shape;
  double seen = static_cast<double>(graph.value(node.inputs[0]).type.shape.back());
  double pattern_taps = 1;
  for (std::size_t i = 0; i < window.rank(); ++i) {
    const auto taps = static_cast<double>(w[i + 1]);
    const auto outputs = static_cast<double>(y[i + 1]);
    double extent = (taps - 1) * static_cast<double>(window.dilations[i]) + 1;
    if (i + 1 == window.rank()) extent += outputs * static_cast<double>(window.strides[i]);
    seen *= extent;
    pattern_taps *= taps * std::min(outputs, 2 * taps + 1);
  }
  return seen <= kMostSeen && pattern_taps <= kMostPatternTaps;
}

}  // namespace

kernels::ConvShape conv_shape(const NodeContext& context) {
  const auto& op = context.op<ir::Conv>();
  const ir::Shape& x = context.input(0).shape;
  const ir::Shape& w = context.input(1).shape;
  const ir::Shape& y = context.output().shape;
  const auto extent = [](ir::Dim dim) { return static_cast<std::size_t>(dim); };
  kernels::ConvShape shape;
  shape.images = extent(x[0]);
  shape.channels = extent(x.back());
  shape.outputs = extent(w[0]);
  shape.groups = extent(op.groups);
  const std::size_t rank = op.window.rank();
  for (std::size_t i = 0; i < rank; ++i) {
    shape.axes[kMostAxes - rank + i] = {extent(x[i + 1]),
                                        extent(y[i + 1]),
                                        extent(w[i + 1]),
                                        extent(op.window.strides[i]),
                                        extent(op.window.dilations[i]),
                                        extent(op.window.pads_before[i])};
  }
  return shape;
}

std::optional<std::string> why_not_coded_conv(const ir::Graph& graph, const ir::Node& node) {
  if (graph.value(node.inputs[0]).type.encoding.is_dense()) return "the input is not encoded";
  if (auto reason = why_not_packed(graph, node)) return reason;
  if (std::get<ir::Conv>(node.op).window.rank() > kMostAxes) {
    return "more than three spatial axes";
  }
  if (!has_usual_window(graph, node)) return "taps lie too far apart, or are too many";
  return std::nullopt;
}

ConvActivation split_activation(const ir::Activation& activation) {
  ConvActivation result;
  switch (activation.kind) {
    case ir::ActivationKind::kRelu:
      result.finish.low = 0;
      return result;
    case ir::ActivationKind::kRelu6:
      result.finish.low = 0;
      result.finish.high = 6;
      return result;
    case ir::ActivationKind::kReluN1To1:
      result.finish.low = -1;
      result.finish.high = 1;
      return result;
    case ir::ActivationKind::kClip:
      if (!(activation.alpha <= activation.beta)) break;
      result.finish.low = activation.alpha;
      result.finish.high = activation.beta;
      return result;
    default:
      break;
  }
  result.after = activation;
  return result;
}

LineShares make_line_shares(const kernels::ConvShape& shape, double us, int threads) {
  constexpr std::size_t kStepBytes = std::size_t{1} << 15;
  const std::size_t line_bytes =
      std::max<std::size_t>(1, shape.line_pixels() * shape.outputs * sizeof(float));
  const std::size_t lines = shape.num_lines();
  return {lines, std::max<std::size_t>(kStepBytes / line_bytes, 1),
          std::clamp<std::size_t>(lines, 1, worthwhile_threads(us, threads))};
}

void activate_lines(const ir::Activation& activation, const kernels::ConvShape& shape,
                    kernels::LineRange lines, MatrixView<float> y) {
  if (activation.kind == ir::ActivationKind::kIdentity) return;
  const std::size_t first = lines.begin * shape.line_pixels() * shape.outputs;
  const std::size_t count = (lines.end - lines.begin) * shape.line_pixels() * shape.outputs;
  const std::span values(y.data_handle() + first, count);
  apply_activation(activation, values, values);
}

}  // namespace halftone::runtime
