// SPDX-License-Identifier: Apache-2.0
// Functions of single elements on a tape.
#include <utility>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/gradient/steps.h"

namespace halftone::gradient {
namespace {

bool has_partials(ir::BinaryKind kind) { return kind <= ir::BinaryKind::kPRelu; }

/// The derivatives of a^b. With respect to the exponent it is 0 where the base is not positive.
std::pair<float, float> power_partials(float a, float b) {
  const auto power = [](float base, float exponent) {
    return ir::apply(ir::BinaryKind::kPow, base, exponent);
  };
  const double log = a > 0 ? elementary::log(a) : 0;
  return {b * power(a, b - 1), static_cast<float>(log == 0 ? 0 : power(a, b) * log)};
}

/// The derivatives of a (op) b with respect to a and b, one-sided at a kink.
/// @pre has_partials(kind)
std::pair<float, float> partials(ir::BinaryKind kind, float a, float b) {
  using Kind = ir::BinaryKind;
  switch (kind) {
    case Kind::kAdd:
      return {1.0F, 1.0F};
    case Kind::kSub:
      return {1.0F, -1.0F};
    case Kind::kMul:
      return {b, a};
    case Kind::kDiv:
      return {1 / b, -a / (b * b)};
    case Kind::kMax:
      return a >= b ? std::pair{1.0F, 0.0F} : std::pair{0.0F, 1.0F};
    case Kind::kMin:
      return a <= b ? std::pair{1.0F, 0.0F} : std::pair{0.0F, 1.0F};
    case Kind::kPow:
      return power_partials(a, b);
    case Kind::kPRelu:
      return a < 0 ? std::pair{b, a} : std::pair{1.0F, 0.0F};
    case Kind::kMod:
    case Kind::kFmod:
    case Kind::kShiftLeft:
    case Kind::kShiftRight:
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kXor:
    case Kind::kEqual:
    case Kind::kLess:
    case Kind::kLessOrEqual:
    case Kind::kGreater:
    case Kind::kGreaterOrEqual:
      break;
  }
  return {0.0F, 0.0F};
}

}  // namespace

float derivative(const ir::Activation& activation, float x) {
  const ir::ActivationFunction function = ir::traits_of(activation.kind).derivative;
  if (function == nullptr) fail_gradient(to_string(activation));
  return function(activation, x);
}

namespace {

Step unary_step(const StepContext& context, const ir::Unary& op) {
  const ir::Activation activation = op.activation;
  derivative(activation, 0.5F);  // rejects unknown functions
  const auto x = context.inputs[0];
  const auto dx = context.input_gradients[0];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {[=] {
            for (std::size_t i = 0; i < x.size(); ++i) y[i] = apply(activation, x[i]);
          },
          [=] {
            for (std::size_t i = 0; i < dx.size(); ++i) {
              dx[i] += dy[i] * derivative(activation, x[i]);
            }
          }};
}

Step binary_step(const StepContext& context, const ir::Binary& op) {
  if (!has_partials(op.kind)) fail_gradient(describe(context.node));
  derivative(op.activation, 0.5F);
  const auto at_a = broadcast_indices(context.input_shape(0), context.output_shape());
  const auto at_b = broadcast_indices(context.input_shape(1), context.output_shape());
  const auto a = context.inputs[0];
  const auto b = context.inputs[1];
  const auto da = context.input_gradients[0];
  const auto db = context.input_gradients[1];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {[=] {
            for (std::size_t i = 0; i < y.size(); ++i) {
              y[i] = apply(op.activation, apply(op.kind, a[at_a[i]], b[at_b[i]]));
            }
          },
          [=] {
            for (std::size_t i = 0; i < y.size(); ++i) {
              const float left = a[at_a[i]];
              const float right = b[at_b[i]];
              const float slope = dy[i] * derivative(op.activation, apply(op.kind, left, right));
              const auto [by_a, by_b] = partials(op.kind, left, right);
              if (!da.empty()) da[at_a[i]] += slope * by_a;
              if (!db.empty()) db[at_b[i]] += slope * by_b;
            }
          }};
}

Step where_step(const StepContext& context, const ir::Where& /*op*/) {
  std::vector<std::vector<std::size_t>> at;
  for (std::size_t i = 0; i < 3; ++i) {
    at.push_back(broadcast_indices(context.input_shape(i), context.output_shape()));
  }
  // visit(element, the input it is taken from, the index there)
  const auto for_each = [=, condition = context.inputs[0]](auto&& visit) {
    for (std::size_t i = 0; i < at[0].size(); ++i) {
      const std::size_t input = condition[at[0][i]] != 0 ? 1 : 2;
      visit(i, input, at[input][i]);
    }
  };
  const auto x = context.inputs;
  const auto dx = context.input_gradients;
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {[=] {
            for_each([&](std::size_t i, std::size_t input, std::size_t place) {
              y[i] = x[input][place];
            });
          },
          [=] {
            for_each([&](std::size_t i, std::size_t input, std::size_t place) {
              if (!dx[input].empty()) dx[input][place] += dy[i];
            });
          }};
}

constexpr StepEntry kElementwiseSteps[] = {step_entry<ir::Unary, unary_step>(),
                                           step_entry<ir::Binary, binary_step>(),
                                           step_entry<ir::Where, where_step>()};

}  // namespace

std::span<const StepEntry> elementwise_steps() { return kElementwiseSteps; }

}  // namespace halftone::gradient
