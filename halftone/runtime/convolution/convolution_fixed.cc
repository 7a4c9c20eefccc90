// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "halftone/ir/layer_arithmetic.h"
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/conv/float_conv.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_codes.h"
#include "halftone/runtime/convolution/convolution_cost.h"
#include "halftone/runtime/convolution/convolution_lines.h"
#include "halftone/runtime/decoded_input.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {
namespace {

/// Estimated time of one thread, measured by `kernels_bench` on Zen 4. A panel takes as long as a
/// full one, and a depthwise convolution reads as often as it multiplies.
double estimated_us(const NodeContext& context) {
  constexpr std::size_t kOutputs = kernels::FloatPanels::kOutputs;
  const ConvExtent conv = conv_extent(context.graph, context.node);
  const auto inputs = static_cast<double>(conv.inputs);
  if (conv.depthwise) return 70e-6 * conv.output_numbers() * inputs;
  return 25e-6 * conv.block_pixels(kOutputs) * kOutputs * inputs;
}

void convolve_and_clamp(const std::byte* x, const kernels::FloatConvWeights& weights,
                        const ConvPart& part) {
  const auto* pixels = reinterpret_cast<const float*>(x);
  kernels::float_conv(pixels, weights, part.lines, part.scratch, part.y);
  if (!part.finish.clamps()) return;
  const std::span values(part.y.data_handle(), part.y.size());
  kernels::clamp(values, part.finish.low, part.finish.high, values);
}

Verdict judge_conv_fixed(const NodeContext& context) {
  if (auto refusal = refuse_float_layer(context)) return *refusal;
  if (context.has_input(3)) return refuse("a residual is added");
  if (!context.output().encoding.is_dense()) return refuse("the output is encoded");
  if (context.input(0).shape.rank() > 5) return refuse("more than three spatial axes");
  if (!ir::has_usual_window(context.graph, context.node)) {
    return refuse("too many taps, or taps too far apart");
  }
  Verdict verdict =
      accept(std::string(decoded_text(context)) + "sums in the order of taps and channels");
  const ConvExtent conv = conv_extent(context.graph, context.node);
  if (conv.input_bits != 0) verdict.speed = speed_of(conv, float_conv_us);
  return verdict;
}

Kernel create_conv_fixed(const NodeContext& context) {
  const ir::Tensor weights = ir::to_float(*context.constant(1));
  Kernel kernel =
      coded_conv_kernel(context, estimated_us(context),
                        kernels::FloatConvWeights(conv_shape(context), weights.as<float>(),
                                                  constant_floats(context, 2)),
                        convolve_and_clamp, kernels::FloatConvWeights::kMinPixels);
  return with_decoded_input(context, std::move(kernel));
}

}  // namespace

// Measured as described in convolution_cost.h.
double float_conv_us(const ConvExtent& conv, Core core) {
  const double products = conv.output_numbers() * static_cast<double>(conv.inputs);
  const double decoded =
      conv.input_bits == 0
          ? 0
          : std::max(600 * conv.input_numbers(), 12000 * static_cast<double>(conv.input_pixels));
  const double product_ps = core == Core::kAvx2 ? 25 : core == Core::kAvx512 ? 12 : 16;
  return 1e-6 * (product_ps * products + 150 * conv.output_numbers() + decoded);
}

constinit const Implementation kConvFixed{.name = "fixed_order_f32",
                                          .judge = judge_conv_fixed,
                                          .create = create_conv_fixed,
                                          .arithmetic = KernelArithmetic::kFixedFloat};

}  // namespace halftone::runtime
