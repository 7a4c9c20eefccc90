// SPDX-License-Identifier: Apache-2.0
// Functions of single elements on a tape.
#include <algorithm>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/gradient/steps.h"
#include "halftone/kernels/activation/activation.h"

namespace halftone::gradient {
namespace {

/// With s = sigmoid(x): the slope of x s is s + x s (1 - s).
void add_silu_slopes(std::span<const float> x, std::span<const float> dy, std::span<float> dx) {
  constexpr std::size_t kPiece = 256;
  float shares[kPiece];
  for (std::size_t first = 0; first < dx.size(); first += kPiece) {
    const std::size_t count = std::min(kPiece, dx.size() - first);
    kernels::sigmoid(x.subspan(first, count), std::span(shares).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      const float s = shares[i];
      dx[first + i] += dy[first + i] * (s + x[first + i] * s * (1 - s));
    }
  }
}

}  // namespace

float derivative(const ir::Activation& activation, float x) {
  const ir::ActivationFunction function = ir::traits_of(activation.kind).derivative;
  if (function == nullptr) fail_gradient(to_string(activation));
  return function(activation, x);
}

void apply_to(const ir::Activation& f, std::span<const float> x, std::span<float> y) {
  if (f.kind == ir::ActivationKind::kIdentity) {
    std::ranges::copy(x, y.begin());
  } else if (f.kind == ir::ActivationKind::kSilu) {
    kernels::silu(x, y);
  } else {
    const ir::ActivationFunction value = ir::traits_of(f.kind).value;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = value(f, x[i]);
  }
}

void add_slopes(const ir::Activation& f, std::span<const float> x, std::span<const float> dy,
                std::span<float> dx) {
  if (f.kind == ir::ActivationKind::kIdentity) {
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += dy[i];
    return;
  }
  if (f.kind == ir::ActivationKind::kSilu) return add_silu_slopes(x, dy, dx);
  const ir::ActivationFunction slope = ir::traits_of(f.kind).derivative;
  if (slope == nullptr) fail_gradient(to_string(f));
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += dy[i] * slope(f, x[i]);
}

namespace {

/// Where an operand lies below the elements of a result.
class Places {
 public:
  Places(const ir::Shape& operand, const ir::Shape& result) {
    if (operand != result) indices_ = broadcast_indices(operand, result);
  }
  [[nodiscard]] std::size_t operator[](std::size_t i) const {
    return indices_.empty() ? i : indices_[i];
  }

 private:
  std::vector<std::size_t> indices_;  ///< empty if they are 0, 1, ...
};

TapeStep unary_step(const StepContext& context, const ir::Unary& op) {
  const ir::Activation activation = op.activation;
  derivative(activation, 0.5F);  // rejects unknown functions
  const auto x = context.inputs[0];
  const auto dx = context.input_gradients[0];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {[=] { apply_to(activation, x, y); }, [=] { add_slopes(activation, x, dy, dx); }};
}

TapeStep binary_step(const StepContext& context, const ir::Binary& op) {
  derivative(op.activation, 0.5F);
  const ir::BinaryTraits& function = ir::traits_of(op.kind);  // a kind with float32 results
  const Places at_a(context.input_shape(0), context.output_shape());
  const Places at_b(context.input_shape(1), context.output_shape());
  const auto a = context.inputs[0];
  const auto b = context.inputs[1];
  const auto da = context.input_gradients[0];
  const auto db = context.input_gradients[1];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {[=] {
            for (std::size_t i = 0; i < y.size(); ++i) {
              y[i] = apply(op.activation, function.value(a[at_a[i]], b[at_b[i]]));
            }
          },
          [=] {
            for (std::size_t i = 0; i < y.size(); ++i) {
              const float left = a[at_a[i]];
              const float right = b[at_b[i]];
              const float slope = dy[i] * derivative(op.activation, function.value(left, right));
              const ir::Partials by = function.partials(left, right);
              if (!da.empty()) da[at_a[i]] += slope * by.a;
              if (!db.empty()) db[at_b[i]] += slope * by.b;
            }
          }};
}

TapeStep where_step(const StepContext& context, const ir::Where& /*op*/) {
  std::vector<Places> at;
  for (std::size_t i = 0; i < 3; ++i) {
    at.emplace_back(context.input_shape(i), context.output_shape());
  }
  // visit(element, the input it is taken from, the index there)
  const auto for_each = [=, condition = context.inputs[0],
                         size = context.output.size()](auto&& visit) {
    for (std::size_t i = 0; i < size; ++i) {
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
