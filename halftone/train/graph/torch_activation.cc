// SPDX-License-Identifier: Apache-2.0
// Activation functions, as operators and fused into other operators.
#include <ATen/ATen.h>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using ir::ActivationKind;
using X = const at::Tensor&;

/// The parameters of an activation as libtorch takes them.
struct Parameters {
  double alpha;
  double beta;
};
using P = const Parameters&;

/// A kind as libtorch operators; null without a derivative.
struct TorchActivation {
  ActivationKind kind;
  at::Tensor (*compute)(X x, P p) = nullptr;
};

constexpr TorchActivation kTable[] = {
    {ActivationKind::kIdentity, [](X x, P) { return x; }},
    {ActivationKind::kRelu, [](X x, P) { return x.relu(); }},
    {ActivationKind::kReluN1To1, [](X x, P) { return x.clamp(-1, 1); }},
    {ActivationKind::kRelu6, [](X x, P) { return x.clamp(0, 6); }},
    {ActivationKind::kClip, [](X x, P p) { return x.clamp(p.alpha, p.beta); }},
    {ActivationKind::kLeakyRelu, [](X x, P p) { return at::leaky_relu(x, p.alpha); }},
    {ActivationKind::kElu, [](X x, P p) { return at::elu(x, p.alpha); }},
    {ActivationKind::kSelu, [](X x, P p) { return at::elu(x, p.alpha, p.beta); }},
    {ActivationKind::kCelu, [](X x, P p) { return at::celu(x, p.alpha); }},
    {ActivationKind::kThresholded, [](X x, P p) { return at::threshold(x, p.alpha, 0); }},
    {ActivationKind::kTanh, [](X x, P) { return x.tanh(); }},
    {ActivationKind::kSigmoid, [](X x, P) { return x.sigmoid(); }},
    {ActivationKind::kHardSigmoid, [](X x, P p) { return (x * p.alpha + p.beta).clamp(0, 1); }},
    {ActivationKind::kHardSwish, [](X x, P) { return at::hardswish(x); }},
    {ActivationKind::kSilu, [](X x, P) { return at::silu(x); }},
    {ActivationKind::kGelu, [](X x, P) { return at::gelu(x, "none"); }},
    {ActivationKind::kGeluTanh, [](X x, P) { return at::gelu(x, "tanh"); }},
    // From 40 on the difference to x is below the precision of either type.
    {ActivationKind::kSoftplus, [](X x, P) { return at::softplus(x, 1, 40); }},
    {ActivationKind::kSoftsign, [](X x, P) { return x / (x.abs() + 1); }},
    {ActivationKind::kSignBit},
    {ActivationKind::kSign},
    {ActivationKind::kExp, [](X x, P) { return x.exp(); }},
    {ActivationKind::kLog, [](X x, P) { return x.log(); }},
    {ActivationKind::kSqrt, [](X x, P) { return x.sqrt(); }},
    {ActivationKind::kAbs, [](X x, P) { return x.abs(); }},
    {ActivationKind::kNeg, [](X x, P) { return x.neg(); }},
    {ActivationKind::kReciprocal, [](X x, P) { return x.reciprocal(); }},
    {ActivationKind::kSquare, [](X x, P) { return x.square(); }},
    {ActivationKind::kErf, [](X x, P) { return x.erf(); }},
    {ActivationKind::kFloor},
    {ActivationKind::kCeil},
    {ActivationKind::kRound},
    {ActivationKind::kSin, [](X x, P) { return x.sin(); }},
    {ActivationKind::kCos, [](X x, P) { return x.cos(); }},
    {ActivationKind::kTan, [](X x, P) { return x.tan(); }},
    {ActivationKind::kAsin, [](X x, P) { return x.asin(); }},
    {ActivationKind::kAcos, [](X x, P) { return x.acos(); }},
    {ActivationKind::kAtan, [](X x, P) { return x.atan(); }},
    {ActivationKind::kSinh, [](X x, P) { return x.sinh(); }},
    {ActivationKind::kCosh, [](X x, P) { return x.cosh(); }},
    {ActivationKind::kAsinh, [](X x, P) { return x.asinh(); }},
    {ActivationKind::kAcosh, [](X x, P) { return x.acosh(); }},
    {ActivationKind::kAtanh, [](X x, P) { return x.atanh(); }},
    {ActivationKind::kNot},
    {ActivationKind::kIsNan},
    {ActivationKind::kIsInf},
};
static_assert(ir::has_all_kinds(kTable));

}  // namespace

at::Tensor activate(const ir::Activation& activation, const at::Tensor& x) {
  const auto compute = kTable[static_cast<std::size_t>(activation.kind)].compute;
  if (compute == nullptr) {
    fail(ErrorKind::kInternal,
         std::string(to_string(activation.kind)) + " has no libtorch operator");
  }
  return compute(x, {wide(activation.alpha), wide(activation.beta)});
}

namespace {

bool is_known(const ir::Unary& op) { return is_differentiable(op.activation); }

at::Tensor compute(const ir::Unary& op, const TorchInputs& in) {
  return activate(op.activation, in[0]);
}

constexpr TorchEntry kActivationFunctions[] = {
    torch_entry<ir::Unary, compute, is_known>(),
};

}  // namespace

std::span<const TorchEntry> activation_functions() { return kActivationFunctions; }

}  // namespace halftone::train
