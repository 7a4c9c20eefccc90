// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose and Pool on float32 in a fixed order.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/work.h"
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/conv/float_conv.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_lines.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/value.h"

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

using kernels::FloatConvTransposeWeights;

struct FixedTranspose {
  FloatConvTransposeWeights weights;
  ir::Activation activation;
  std::size_t shares;

  void run(const std::byte* x, std::byte* scratch, std::byte* y) const {
    const kernels::ConvShape& shape = weights.shape();
    const std::size_t pixels = shape.num_pixels();
    const MatrixView<float> all = float_matrix(y, {pixels, shape.outputs});
    const auto body = [&](std::size_t share) {
      const kernels::OutputPixels part{pixels * share / shares, pixels * (share + 1) / shares};
      const MatrixView<float> to = all.rows_from(part.begin, part.count());
      const std::span memory(scratch + share * weights.scratch_bytes(), weights.scratch_bytes());
      kernels::float_conv_transpose(reinterpret_cast<const float*>(x), weights, part, memory, to);
      const std::span values(to.data_handle(), to.size());
      apply_activation(activation, values, values);
    };
    if (shares == 1) return body(0);
    parallel_for(shares, std::ref(body));  // by reference: allocates nothing
  }
};

kernels::ConvShape transposed_shape(const NodeContext& context) {
  const auto& op = context.op<ir::ConvTranspose>();
  const ir::Shape& x = context.input(0).shape;
  const ir::Shape& w = context.input(1).shape;
  const auto extent = [](ir::Dim dim) { return static_cast<std::size_t>(dim); };
  return {extent(x[0]), conv_axes(op.window, ir::kernel_extents(w), x, context.output().shape),
          extent(x.back()), extent(w[0]), extent(op.groups)};
}

/// Estimated time of one thread. Each product takes as long as in float_conv_us().
double transpose_us(const NodeContext& context) {
  return 25e-6 * ir::work_of(context.graph, context.node).products();
}

Verdict judge_conv_transpose_fixed(const NodeContext& context) {
  if (auto refusal = refuse_float_layer(context)) return *refusal;
  if (context.input(0).shape.rank() > 5) return refuse("more than three spatial axes");
  return accept(std::string(decoded_text(context)) +
                "sums in the order of channels, then of input pixels");
}

Kernel create_conv_transpose_fixed(const NodeContext& context) {
  const ir::Tensor weights = ir::to_float(*context.constant(1));
  const kernels::ConvShape shape = transposed_shape(context);
  const std::size_t shares =
      std::clamp<std::size_t>(shape.num_pixels(), 1, threads_for(context, transpose_us(context)));
  const auto layer = std::make_shared<const FixedTranspose>(FixedTranspose{
      FloatConvTransposeWeights(shape, weights.as<float>(), constant_floats(context, 2)),
      context.op<ir::ConvTranspose>().activation, shares});
  Kernel kernel;
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = shares * layer->weights.scratch_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, x = buffers.inputs[0], scratch = buffers.scratch, y = buffers.output] {
      layer->run(x, scratch, y);
    };
  };
  return with_decoded_input(context, std::move(kernel));
}

using kernels::FloatPool;

/// @pre one to three spatial axes
FloatPool float_pool_of(const NodeContext& context) {
  const auto& op = context.op<ir::Pool>();
  const ir::Shape& x = context.input(0).shape;
  const auto channels = static_cast<std::size_t>(x.back());
  return {
      {static_cast<std::size_t>(x[0]), conv_axes(op.window, op.kernel, x, context.output().shape),
       channels, channels, channels},
      op.kind == ir::PoolKind::kMax,
      op.count_padding};
}

Verdict judge_pool_fixed(const NodeContext& context) {
  const auto& op = context.op<ir::Pool>();
  if (!context.input(0).is_dense(ir::ElementType::kFloat32))
    return refuse("the input is not float32");
  const bool is_max = op.kind == ir::PoolKind::kMax;
  if (context.input(0).shape.rank() > 5) return refuse("more than three spatial axes");
  if (context.output().shape.element_count() == 0) return refuse("there is nothing to compute");
  const auto extents = ir::spatial_extents(context.input(0).shape);
  if (op.count_padding && ir::window_counts(op.window, extents, op.kernel) !=
                              ir::window_counts(op.window, extents, op.kernel, op.round_up)) {
    return refuse("the last window is cut off");
  }
  return accept(is_max ? "the largest of the taps" : "sums in the order of taps");
}

Kernel create_pool_fixed(const NodeContext& context) {
  const std::size_t shares = context.input(0).shape.element_count() < kParallelNumbers
                                 ? 1
                                 : static_cast<std::size_t>(context.threads);
  Kernel kernel;
  kernel.bind = [pool = float_pool_of(context), shares](const Buffers& buffers) -> Call {
    const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]);
    const auto y = float_matrix(buffers.output, {pool.shape.num_pixels(), pool.shape.channels});
    return [pool, shares, x, y] {
      const std::size_t lines = pool.shape.num_lines();
      const std::size_t width = pool.shape.line_pixels();
      const auto body = [&](std::size_t share) {
        const kernels::LineRange part{lines * share / shares, lines * (share + 1) / shares};
        kernels::float_pool(x, pool, part, y.rows_from(part.begin * width, part.count() * width));
      };
      if (shares == 1) return body(0);
      parallel_for(shares, std::ref(body));  // by reference: allocates nothing
    };
  };
  return kernel;
}

}  // namespace

// Measured as described in convolution.h.
double float_conv_us(const ConvExtent& conv, Core core) {
  const double products = conv.output_numbers() * static_cast<double>(conv.inputs);
  const double decoded =
      conv.input_bits == 0
          ? 0
          : std::max(600 * conv.input_numbers(), 12000 * static_cast<double>(conv.input_pixels));
  const double product_ps = core == Core::kAvx2 ? 25 : core == Core::kAvx512 ? 12 : 16;
  return 1e-6 * (product_ps * products + 150 * conv.output_numbers() + decoded);
}

constinit const Implementation kConvFixed =
    Implementation::fixed_float(judge_conv_fixed, create_conv_fixed);

constinit const Implementation kConvTransposeFixed =
    Implementation::fixed_float(judge_conv_transpose_fixed, create_conv_transpose_fixed);

constinit const Implementation kPoolFixed =
    Implementation::fixed_float(judge_pool_fixed, create_pool_fixed);

}  // namespace halftone::runtime
