// SPDX-License-Identifier: Apache-2.0
// Sums of int32.
#include <algorithm>

#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/statistics/statistics.h"

namespace halftone::runtime {
namespace {

Verdict judge_sum_integers(const NodeContext& context) {
  const auto& op = context.op<ir::Reduce>();
  if (!context.input(0).is_dense(ir::ElementType::kInt32)) return refuse("the input is not int32");
  if (op.kind != ir::ReduceKind::kSum) return refuse("no sum");
  if (!joined_axes(context.input(0).shape, op.axes)) return refuse("the axes are not adjacent");
  return accept("over adjacent axes");
}

Kernel create_sum_integers(const NodeContext& context) {
  const ir::AxisView view = *joined_axes(context.input(0).shape, context.op<ir::Reduce>().axes);
  Kernel kernel;
  kernel.bind = [view](const Buffers& buffers) -> Call {
    // Unsigned because sums may wrap around.
    const auto* x = reinterpret_cast<const std::uint32_t*>(buffers.inputs[0]);
    auto* y = reinterpret_cast<std::uint32_t*>(buffers.output);
    return [view, x, y] {
      std::fill_n(y, view.outer * view.inner, 0U);
      const std::uint32_t* row = x;
      for (std::size_t outer = 0; outer < view.outer; ++outer) {
        std::uint32_t* sums = y + outer * view.inner;
        for (std::size_t i = 0; i < view.extent; ++i, row += view.inner) {
          for (std::size_t c = 0; c < view.inner; ++c) sums[c] += row[c];
        }
      }
    };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kSumIntegers{
    .name = "joined_axes_i32", .judge = judge_sum_integers, .create = create_sum_integers};

}  // namespace halftone::runtime
