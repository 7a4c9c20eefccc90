// SPDX-License-Identifier: Apache-2.0
// Functions of single elements on a tape.
#include <cmath>
#include <numbers>

#include "halftone/base/error.h"
#include "halftone/gradient/steps.h"

namespace halftone::gradient {
namespace {

bool has_partials(ir::BinaryKind kind) { return kind <= ir::BinaryKind::kPRelu; }

/// The derivatives of a (op) b with respect to a and b, one-sided at a kink. That of a power with
/// respect to its exponent is 0 where the base is not positive.
std::pair<float, float> partials(ir::BinaryKind kind, float a, float b) {
  using Kind = ir::BinaryKind;
  switch (kind) {
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
      return {b * std::pow(a, b - 1), a > 0 ? std::pow(a, b) * std::log(a) : 0.0F};
    case Kind::kPRelu:
      return a < 0 ? std::pair{b, a} : std::pair{1.0F, 0.0F};
    default:
      return {1.0F, 1.0F};
  }
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

float derivative(const ir::Activation& activation, float x) {
  using Kind = ir::ActivationKind;
  const float alpha = activation.alpha;
  const float beta = activation.beta;
  switch (activation.kind) {
    case Kind::kIdentity:
      return 1;
    case Kind::kRelu:
      return x > 0 ? 1.0F : 0.0F;
    case Kind::kReluN1To1:
      return x > -1 && x < 1 ? 1.0F : 0.0F;
    case Kind::kRelu6:
      return x > 0 && x < 6 ? 1.0F : 0.0F;
    case Kind::kClip:
      return x > alpha && x < beta ? 1.0F : 0.0F;
    case Kind::kLeakyRelu:
      return x < 0 ? alpha : 1.0F;
    case Kind::kElu:
      return x < 0 ? alpha * std::exp(x) : 1.0F;
    case Kind::kSelu:
      return beta * (x < 0 ? alpha * std::exp(x) : 1.0F);
    case Kind::kTanh: {
      const float y = std::tanh(x);
      return 1 - y * y;
    }
    case Kind::kSigmoid:
      return sigmoid(x) * (1 - sigmoid(x));
    case Kind::kHardSigmoid: {
      const float y = alpha * x + beta;
      return y > 0 && y < 1 ? alpha : 0.0F;
    }
    case Kind::kHardSwish:
      return x < -3 ? 0.0F : x > 3 ? 1.0F : x / 3 + 0.5F;
    case Kind::kSilu:
      return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    case Kind::kGelu: {
      const float density = std::exp(-x * x / 2) * 0.398942280F;
      return 0.5F * (1 + std::erf(x * std::numbers::sqrt2_v<float> / 2)) + x * density;
    }
    case Kind::kGeluTanh: {
      constexpr float kCubic = 0.044715F;
      const float scale = std::sqrt(2 * std::numbers::inv_pi_v<float>);
      const float y = std::tanh(scale * (x + kCubic * x * x * x));
      return 0.5F * (1 + y) + 0.5F * x * (1 - y * y) * scale * (1 + 3 * kCubic * x * x);
    }
    case Kind::kSoftplus:
      return sigmoid(x);
    case Kind::kSoftsign:
      return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case Kind::kErf:
      return 2 * std::numbers::inv_sqrtpi_v<float> * std::exp(-x * x);
    case Kind::kExp:
      return std::exp(x);
    case Kind::kLog:
      return 1 / x;
    case Kind::kSqrt:
      return 0.5F / std::sqrt(x);
    case Kind::kReciprocal:
      return -1 / (x * x);
    case Kind::kAbs:
      return x < 0 ? -1.0F : 1.0F;
    case Kind::kSin:
      return std::cos(x);
    case Kind::kCos:
      return -std::sin(x);
    case Kind::kSquare:
      return 2 * x;
    case Kind::kNeg:
      return -1;
    default:
      fail_gradient(to_string(activation));
  }
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
