// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/ops/convolution_codes.h"

#include <algorithm>

#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/ops/linear_cost.h"

namespace halftone::runtime {
namespace {

constexpr std::size_t kMostAxes = 3;

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
