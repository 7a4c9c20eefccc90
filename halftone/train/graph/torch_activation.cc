// SPDX-License-Identifier: Apache-2.0
// Functions of one number, alone and fused into others.
#include <ATen/ATen.h>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using Kind = ir::ActivationKind;

double wide(float x) { return static_cast<double>(x); }

/// Those of a plain name and no parameters.
at::Tensor plain_function(Kind kind, const at::Tensor& x) {
  switch (kind) {
    case Kind::kExp:
      return x.exp();
    case Kind::kLog:
      return x.log();
    case Kind::kSqrt:
      return x.sqrt();
    case Kind::kAbs:
      return x.abs();
    case Kind::kNeg:
      return x.neg();
    case Kind::kReciprocal:
      return x.reciprocal();
    case Kind::kSquare:
      return x.square();
    case Kind::kErf:
      return x.erf();
    case Kind::kSin:
      return x.sin();
    case Kind::kCos:
      return x.cos();
    case Kind::kTan:
      return x.tan();
    case Kind::kAsin:
      return x.asin();
    case Kind::kAcos:
      return x.acos();
    case Kind::kAtan:
      return x.atan();
    case Kind::kSinh:
      return x.sinh();
    case Kind::kCosh:
      return x.cosh();
    case Kind::kAsinh:
      return x.asinh();
    case Kind::kAcosh:
      return x.acosh();
    case Kind::kAtanh:
      return x.atanh();
    default:
      fail(ErrorKind::kInternal, std::string(to_string(kind)) + " is not in words of libtorch");
  }
}

}  // namespace

bool is_differentiable(const ir::Activation& activation) {
  switch (activation.kind) {
    case Kind::kSignBit:
    case Kind::kSign:
    case Kind::kFloor:
    case Kind::kCeil:
    case Kind::kRound:
    case Kind::kNot:
    case Kind::kIsNan:
    case Kind::kIsInf:
      return false;
    default:
      return true;
  }
}

at::Tensor activate(const ir::Activation& activation, const at::Tensor& x) {
  const double alpha = wide(activation.alpha);
  const double beta = wide(activation.beta);
  switch (activation.kind) {
    case Kind::kIdentity:
      return x;
    case Kind::kRelu:
      return x.relu();
    case Kind::kReluN1To1:
      return x.clamp(-1, 1);
    case Kind::kRelu6:
      return x.clamp(0, 6);
    case Kind::kClip:
      return x.clamp(alpha, beta);
    case Kind::kLeakyRelu:
      return at::leaky_relu(x, alpha);
    case Kind::kElu:
      return at::elu(x, alpha);
    case Kind::kSelu:
      return at::elu(x, alpha, beta);
    case Kind::kCelu:
      return at::celu(x, alpha);
    case Kind::kThresholded:
      return at::threshold(x, alpha, 0);
    case Kind::kTanh:
      return x.tanh();
    case Kind::kSigmoid:
      return x.sigmoid();
    case Kind::kHardSigmoid:
      return (x * alpha + beta).clamp(0, 1);
    case Kind::kHardSwish:
      return at::hardswish(x);
    case Kind::kSilu:
      return at::silu(x);
    case Kind::kGelu:
      return at::gelu(x, "none");
    case Kind::kGeluTanh:
      return at::gelu(x, "tanh");
    case Kind::kSoftplus:
      // From 40 on the rest is below the precision of either type.
      return at::softplus(x, 1, 40);
    case Kind::kSoftsign:
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
