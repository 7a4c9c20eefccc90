// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/activation/activation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "halftone/base/parallel.h"
#include "halftone/runtime/elementwise/elementwise.h"

namespace halftone::runtime {
namespace {

/// A function of halftone/kernels that computes an activation.
using VectorFunction = void (*)(const ir::Activation&, std::span<const float>, std::span<float>);

struct NamedFunction {
  ir::ActivationKind kind;
  VectorFunction run;
};

/// The vector function of an activation; null if there is none.
VectorFunction vector_function(const ir::Activation& activation) {
  using Kind = ir::ActivationKind;
  using F = const ir::Activation&;
  using X = std::span<const float>;
  using Y = std::span<float>;
  constexpr auto kCopy = [](F, X x, Y y) {
    if (x.data() != y.data()) std::copy(x.begin(), x.end(), y.begin());
  };
  static constexpr NamedFunction kFunctions[] = {
      {Kind::kIdentity, kCopy},
      {Kind::kRelu, [](F, X x, Y y) { kernels::relu(x, y); }},
      {Kind::kSigmoid, [](F, X x, Y y) { kernels::sigmoid(x, y); }},
      {Kind::kTanh, [](F, X x, Y y) { kernels::tanh(x, y); }},
      {Kind::kRelu6, [](F, X x, Y y) { kernels::clamp(x, 0, 6, y); }},
      {Kind::kReluN1To1, [](F, X x, Y y) { kernels::clamp(x, -1, 1, y); }},
      {Kind::kClip, [](F f, X x, Y y) { kernels::clamp(x, f.alpha, f.beta, y); }},
      {Kind::kLeakyRelu, [](F f, X x, Y y) { kernels::leaky_relu(x, f.alpha, y); }},
      {Kind::kExp, [](F, X x, Y y) { kernels::exp(x, y); }},
      {Kind::kElu, [](F f, X x, Y y) { kernels::elu(x, f.alpha, 1, y); }},
      {Kind::kSelu, [](F f, X x, Y y) { kernels::elu(x, f.alpha, f.beta, y); }},
      {Kind::kHardSigmoid, [](F f, X x, Y y) { kernels::hard_sigmoid(x, f.alpha, f.beta, y); }},
      {Kind::kHardSwish, [](F, X x, Y y) { kernels::hard_swish(x, y); }},
      {Kind::kSilu, [](F, X x, Y y) { kernels::silu(x, y); }},
      {Kind::kSoftplus, [](F, X x, Y y) { kernels::softplus(x, y); }},
      {Kind::kErf, [](F, X x, Y y) { kernels::erf(x, y); }},
      {Kind::kGelu, [](F, X x, Y y) { kernels::gelu(x, y); }},
      {Kind::kGeluTanh, [](F, X x, Y y) { kernels::gelu_tanh(x, y); }},
      {Kind::kAbs, [](F, X x, Y y) { kernels::abs(x, y); }},
      {Kind::kNeg, [](F, X x, Y y) { kernels::negate(x, y); }},
      {Kind::kSquare, [](F, X x, Y y) { kernels::square(x, y); }},
      {Kind::kSqrt, [](F, X x, Y y) { kernels::sqrt(x, y); }},
  };
  if (activation.kind == Kind::kClip && !(activation.alpha <= activation.beta)) return nullptr;
  const auto* const found = std::ranges::find(kFunctions, activation.kind, &NamedFunction::kind);
  return found == std::end(kFunctions) ? nullptr : found->run;
}

Verdict judge_unary_vector(const NodeContext& context) {
  const ir::Activation& activation = context.op<ir::Unary>().activation;
  if (!maps_floats(context)) return refuse("the input is not float32");
  if (!has_vector_function(activation)) {
    return refuse("no vector function for " + ir::to_string(activation));
  }
  return accept("vector function");
}

Kernel create_unary_vector(const NodeContext& context) {
  const ir::Activation activation = context.op<ir::Unary>().activation;
  const std::size_t count = context.output().shape.element_count();
  const std::size_t shares =
      count < kParallelNumbers ? 1 : static_cast<std::size_t>(context.threads);
  Kernel kernel;
  kernel.bind = [activation, count, shares](const Buffers& buffers) -> Call {
    const std::span x(reinterpret_cast<const float*>(buffers.inputs[0]), count);
    const std::span y(reinterpret_cast<float*>(buffers.output), count);
    return [activation, x, y, shares] { apply_activation(activation, x, y, shares); };
  };
  return kernel;
}

Verdict judge_unary_plain(const NodeContext& context) {
  if (!maps_floats(context)) return refuse("the input is not float32");
  return accept("element by element");
}

}  // namespace

bool has_vector_function(const ir::Activation& activation) {
  return vector_function(activation) != nullptr;
}

void apply_activation(const ir::Activation& activation, std::span<const float> x,
                      std::span<float> y) noexcept {
  if (const VectorFunction run = vector_function(activation)) return run(activation, x, y);
  std::transform(x.begin(), x.end(), y.begin(),
                 [&](float value) { return ir::apply(activation, value); });
}

void apply_activation(const ir::Activation& activation, std::span<const float> x,
                      std::span<float> y, std::size_t shares) noexcept {
  if (shares == 1) return apply_activation(activation, x, y);
  const auto body = [&](std::size_t share) {
    const std::size_t first = x.size() * share / shares;
    const std::size_t length = x.size() * (share + 1) / shares - first;
    apply_activation(activation, x.subspan(first, length), y.subspan(first, length));
  };
  parallel_for(shares, std::ref(body));  // by reference: allocates nothing
}

std::function<float(float)> never_decreasing(const ir::Activation& activation) {
  using Kind = ir::ActivationKind;
  const auto [kind, alpha, beta] = activation;
  const auto computed = [activation](float x) { return ir::apply(activation, x); };
  if (ir::limits_of(activation)) return computed;
  if (kind == Kind::kTanh) return kernels::tanh_reference;
  if (kind == Kind::kExp) return kernels::exp_reference;
  const bool rises = alpha > 0 && std::isfinite(alpha) && std::isfinite(beta);
  if (!rises) return nullptr;
  if (kind == Kind::kLeakyRelu) return computed;
  if (kind == Kind::kElu) {
    return [slope = alpha](float x) { return kernels::elu_reference(x, slope, 1); };
  }
  if (kind == Kind::kHardSigmoid) {
    return [slope = alpha, shift = beta](float x) {
      return kernels::hard_sigmoid_reference(x, slope, shift);
    };
  }
  return nullptr;
}

constinit const Implementation kUnaryVector{
    .name = "vector_f32", .judge = judge_unary_vector, .create = create_unary_vector};
constinit const Implementation kUnaryPlain{
    .name = "plain_f32", .judge = judge_unary_plain, .create = create_unary_vector};

}  // namespace halftone::runtime
