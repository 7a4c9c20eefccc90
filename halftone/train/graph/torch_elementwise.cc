// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of several tensors; both libraries broadcast by NumPy's rule.
#include <ATen/ATen.h>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using ir::BinaryKind;

at::Tensor combined(BinaryKind kind, const at::Tensor& a, const at::Tensor& b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kDiv:
      return a / b;
    case BinaryKind::kMax:
      return at::maximum(a, b);
    case BinaryKind::kMin:
      return at::minimum(a, b);
    case BinaryKind::kPow:
      return a.pow(b);
    case BinaryKind::kPRelu:
      return at::where(a < 0, a * b, a);
    case BinaryKind::kMod:
      return a.remainder(b);
    case BinaryKind::kFmod:
      return a.fmod(b);
    case BinaryKind::kShiftLeft:
    case BinaryKind::kShiftRight:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
    case BinaryKind::kEqual:
    case BinaryKind::kLess:
    case BinaryKind::kLessOrEqual:
    case BinaryKind::kGreater:
    case BinaryKind::kGreaterOrEqual:
      break;
  }
  fail(ErrorKind::kInternal, std::string(to_string(kind)) + " has no libtorch operator");
}

bool is_known(const ir::Binary& op) {
  return op.kind <= BinaryKind::kFmod && is_differentiable(op.activation);
}

at::Tensor compute(const ir::Binary& op, const TorchInputs& in) {
  return activate(op.activation, combined(op.kind, in[0], in[1]));
}

at::Tensor compute(const ir::Where& /*op*/, const TorchInputs& in) {
  return at::where(in[0], in[1], in[2]);
}

bool is_known(const ir::Cast& op) { return op.element == ir::ElementType::kFloat32; }

at::Tensor compute(const ir::Cast& /*op*/, const TorchInputs& in) { return in[0]; }

constexpr TorchEntry kElementwiseFunctions[] = {
    torch_entry<ir::Binary, compute, is_known>(),
    torch_entry<ir::Where, compute>(),
    torch_entry<ir::Cast, compute, is_known>(),
};

}  // namespace

std::span<const TorchEntry> elementwise_functions() { return kElementwiseFunctions; }

}  // namespace halftone::train
