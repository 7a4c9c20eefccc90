// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of several tensors; both libraries broadcast by NumPy's rule.
#include <ATen/ATen.h>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using ir::BinaryKind;

using X = const at::Tensor&;

/// A kind as libtorch operators; null without partial derivatives.
struct TorchBinary {
  BinaryKind kind;
  at::Tensor (*compute)(X a, X b) = nullptr;
};

constexpr TorchBinary kBinaryTable[] = {
    {BinaryKind::kAdd, [](X a, X b) { return a + b; }},
    {BinaryKind::kSub, [](X a, X b) { return a - b; }},
    {BinaryKind::kMul, [](X a, X b) { return a * b; }},
    {BinaryKind::kDiv, [](X a, X b) { return a / b; }},
    {BinaryKind::kMax, [](X a, X b) { return at::maximum(a, b); }},
    {BinaryKind::kMin, [](X a, X b) { return at::minimum(a, b); }},
    {BinaryKind::kPow, [](X a, X b) { return a.pow(b); }},
    {BinaryKind::kPRelu, [](X a, X b) { return at::where(a < 0, a * b, a); }},
    {BinaryKind::kMod, [](X a, X b) { return a.remainder(b); }},
    {BinaryKind::kFmod, [](X a, X b) { return a.fmod(b); }},
    {BinaryKind::kShiftLeft},
    {BinaryKind::kShiftRight},
    {BinaryKind::kAnd},
    {BinaryKind::kOr},
    {BinaryKind::kXor},
    {BinaryKind::kEqual},
    {BinaryKind::kLess},
    {BinaryKind::kLessOrEqual},
    {BinaryKind::kGreater},
    {BinaryKind::kGreaterOrEqual},
};
static_assert(ir::has_all_kinds(kBinaryTable));

auto function_of(BinaryKind kind) { return kBinaryTable[static_cast<std::size_t>(kind)].compute; }

bool is_known(const ir::Binary& op) {
  return function_of(op.kind) != nullptr && is_differentiable(op.activation);
}

at::Tensor compute(const ir::Binary& op, const TorchInputs& in) {
  const auto function = function_of(op.kind);
  if (function == nullptr) {
    fail(ErrorKind::kInternal, std::string(to_string(op.kind)) + " has no libtorch operator");
  }
  return activate(op.activation, function(in[0], in[1]));
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
