// SPDX-License-Identifier: Apache-2.0
// Activation functions, as operators and fused into other operators.
#include <ATen/ATen.h>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using ir::ActivationKind;

/// Functions without parameters that are a single libtorch operator.
at::Tensor plain_function(ActivationKind kind, const at::Tensor& x) {
  switch (kind) {
    case ActivationKind::kExp:
      return x.exp();
    case ActivationKind::kLog:
      return x.log();
    case ActivationKind::kSqrt:
      return x.sqrt();
    case ActivationKind::kAbs:
      return x.abs();
    case ActivationKind::kNeg:
      return x.neg();
    case ActivationKind::kReciprocal:
      return x.reciprocal();
    case ActivationKind::kSquare:
      return x.square();
    case ActivationKind::kErf:
      return x.erf();
    case ActivationKind::kSin:
      return x.sin();
    case ActivationKind::kCos:
      return x.cos();
    case ActivationKind::kTan:
      return x.tan();
    case ActivationKind::kAsin:
      return x.asin();
    case ActivationKind::kAcos:
      return x.acos();
    case ActivationKind::kAtan:
      return x.atan();
    case ActivationKind::kSinh:
      return x.sinh();
    case ActivationKind::kCosh:
      return x.cosh();
    case ActivationKind::kAsinh:
      return x.asinh();
    case ActivationKind::kAcosh:
      return x.acosh();
    case ActivationKind::kAtanh:
      return x.atanh();
    default:
      fail(ErrorKind::kInternal, std::string(to_string(kind)) + " has no libtorch operator");
  }
}

}  // namespace

bool is_differentiable(const ir::Activation& activation) {
  switch (activation.kind) {
    case ActivationKind::kSignBit:
    case ActivationKind::kSign:
    case ActivationKind::kFloor:
    case ActivationKind::kCeil:
    case ActivationKind::kRound:
    case ActivationKind::kNot:
    case ActivationKind::kIsNan:
    case ActivationKind::kIsInf:
      return false;
    default:
      return true;
  }
}

at::Tensor activate(const ir::Activation& activation, const at::Tensor& x) {
  const double alpha = wide(activation.alpha);
  const double beta = wide(activation.beta);
  switch (activation.kind) {
    case ActivationKind::kIdentity:
      return x;
    case ActivationKind::kRelu:
      return x.relu();
    case ActivationKind::kReluN1To1:
      return x.clamp(-1, 1);
    case ActivationKind::kRelu6:
      return x.clamp(0, 6);
    case ActivationKind::kClip:
      return x.clamp(alpha, beta);
    case ActivationKind::kLeakyRelu:
      return at::leaky_relu(x, alpha);
    case ActivationKind::kElu:
      return at::elu(x, alpha);
    case ActivationKind::kSelu:
      return at::elu(x, alpha, beta);
    case ActivationKind::kCelu:
      return at::celu(x, alpha);
    case ActivationKind::kThresholded:
      return at::threshold(x, alpha, 0);
    case ActivationKind::kTanh:
      return x.tanh();
    case ActivationKind::kSigmoid:
      return x.sigmoid();
    case ActivationKind::kHardSigmoid:
      return (x * alpha + beta).clamp(0, 1);
    case ActivationKind::kHardSwish:
      return at::hardswish(x);
    case ActivationKind::kSilu:
      return at::silu(x);
    case ActivationKind::kGelu:
      return at::gelu(x, "none");
    case ActivationKind::kGeluTanh:
      return at::gelu(x, "tanh");
    case ActivationKind::kSoftplus:
      // From 40 on the difference to x is below the precision of either type.
      return at::softplus(x, 1, 40);
    case ActivationKind::kSoftsign:
      return x / (x.abs() + 1);
    default:
      return plain_function(activation.kind, x);
  }
}

bool is_known(const ir::Unary& op) { return is_differentiable(op.activation); }

at::Tensor compute(const ir::Unary& op, const TorchInputs& in) {
  return activate(op.activation, in[0]);
}

}  // namespace halftone::train
