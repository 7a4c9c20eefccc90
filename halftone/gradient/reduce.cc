// SPDX-License-Identifier: Apache-2.0
// Statistics over axes on a tape. Derivatives follow from an element and the statistic itself.
#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/gradient/steps.h"

namespace halftone::gradient {
namespace {

bool has_slope(ir::ReduceKind kind) { return kind != ir::ReduceKind::kProd; }

/// The derivative of a statistic y of `count` elements with respect to one of them, x. If several
/// elements are the largest, each counts.
/// @pre has_slope(kind)
float slope(ir::ReduceKind kind, float x, float y, float count) {
  using Kind = ir::ReduceKind;
  switch (kind) {
    case Kind::kSum:
      return 1;
    case Kind::kMean:
      return 1 / count;
    case Kind::kMax:
    case Kind::kMin:
      return x == y ? 1.0F : 0.0F;
    case Kind::kL1:
      return x < 0 ? -1.0F : 1.0F;
    case Kind::kL2:
      return y > 0 ? x / y : 0.0F;
    case Kind::kSumSquare:
      return 2 * x;
    case Kind::kLogSum:
      return static_cast<float>(elementary::exp(-y));
    case Kind::kLogSumExp:
      return static_cast<float>(elementary::exp(x - y));
    case Kind::kProd:
      break;
  }
  return 0;
}

TapeStep reduce_step(const StepContext& context, const ir::Reduce& op) {
  if (!has_slope(op.kind)) fail_gradient(describe(context.node));
  ir::Shape kept = context.input_shape(0);
  for (const std::size_t axis : op.axes) kept[axis] = 1;
  const auto group = broadcast_indices(kept, context.input_shape(0));
  const auto x = context.inputs[0];
  const auto dx = context.input_gradients[0];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  const auto count = static_cast<float>(x.size()) / static_cast<float>(y.size());
  return {definition_step(context).forward, [=] {
            for (std::size_t i = 0; i < dx.size(); ++i) {
              dx[i] += dy[group[i]] * slope(op.kind, x[i], y[group[i]], count);
            }
          }};
}

/// Each element adds to the sums behind it, so it collects their gradients: the sums of the other
/// direction.
TapeStep cum_sum_step(const StepContext& context, const ir::CumSum& op) {
  const ir::CumSum opposite{op.axis, op.exclusive, !op.reverse};
  const ir::Shape shape = context.output_shape();
  const auto dx = context.input_gradients[0];
  const auto dy = context.output_gradient;
  return {definition_step(context).forward, [=] {
            if (dx.empty()) return;
            const ir::Tensor slopes = ir::Tensor::from<float>(shape, dy);
            const ir::Tensor* input = &slopes;
            const ir::Tensor sums = ir::evaluate_operator(opposite, {&input, 1});
            for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += sums.as<float>()[i];
          }};
}

constexpr StepEntry kReduceSteps[] = {step_entry<ir::Reduce, reduce_step>(),
                                      step_entry<ir::CumSum, cum_sum_step>()};

}  // namespace

std::span<const StepEntry> reduce_steps() { return kReduceSteps; }

}  // namespace halftone::gradient
