// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/ir/work.h"
#include "halftone/kernels/conv/float_conv_transpose.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_codes.h"
#include "halftone/runtime/decoded_input.h"
#include "halftone/runtime/elementwise/activation.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/linear/linear_cost.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

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

}  // namespace

constinit const Implementation kConvTransposeFixed{.name = "fixed_order_f32",
                                                   .judge = judge_conv_transpose_fixed,
                                                   .create = create_conv_transpose_fixed,
                                                   .arithmetic = KernelArithmetic::kFixedFloat};

}  // namespace halftone::runtime
