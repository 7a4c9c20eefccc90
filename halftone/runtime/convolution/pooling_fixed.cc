// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "halftone/base/parallel.h"
#include "halftone/kernels/conv/float_pool.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_codes.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

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

constinit const Implementation kPoolFixed{.name = "fixed_order_f32",
                                          .judge = judge_pool_fixed,
                                          .create = create_pool_fixed,
                                          .arithmetic = KernelArithmetic::kFixedFloat};

}  // namespace halftone::runtime
