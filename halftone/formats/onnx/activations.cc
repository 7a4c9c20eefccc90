// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/activations.h"

#include <algorithm>
#include <iterator>

namespace halftone::formats::onnx {
namespace {

using Kind = ir::ActivationKind;

constexpr ActivationEntry kActivations[] = {
    {.op_type = "Identity", .kind = Kind::kIdentity},
    {.op_type = "Abs", .kind = Kind::kAbs},
    {.op_type = "Acos", .kind = Kind::kAcos},
    {.op_type = "Acosh", .kind = Kind::kAcosh},
    {.op_type = "Asin", .kind = Kind::kAsin},
    {.op_type = "Asinh", .kind = Kind::kAsinh},
    {.op_type = "Atan", .kind = Kind::kAtan},
    {.op_type = "Atanh", .kind = Kind::kAtanh},
    {.op_type = "Ceil", .kind = Kind::kCeil},
    {.op_type = "Celu", .kind = Kind::kCelu, .alpha = "alpha", .alpha_default = 1.0F},
    {.op_type = "Cos", .kind = Kind::kCos},
    {.op_type = "Cosh", .kind = Kind::kCosh},
    {.op_type = "Elu",
     .kind = Kind::kElu,
     .alpha = "alpha",
     .alpha_default = 1.0F,
     .is_listed = true},
    {.op_type = "Erf", .kind = Kind::kErf},
    {.op_type = "Exp", .kind = Kind::kExp},
    {.op_type = "Floor", .kind = Kind::kFloor},
    {.op_type = "HardSigmoid",
     .kind = Kind::kHardSigmoid,
     .alpha = "alpha",
     .alpha_default = 0.2F,
     .beta = "beta",
     .beta_default = 0.5F,
     .is_listed = true},
    {.op_type = "HardSwish", .kind = Kind::kHardSwish},
    {.op_type = "IsNaN", .kind = Kind::kIsNan},
    {.op_type = "LeakyRelu",
     .kind = Kind::kLeakyRelu,
     .alpha = "alpha",
     .alpha_default = 0.01F,
     .is_listed = true},
    {.op_type = "Log", .kind = Kind::kLog},
    {.op_type = "Neg", .kind = Kind::kNeg},
    {.op_type = "Reciprocal", .kind = Kind::kReciprocal},
    {.op_type = "Relu", .kind = Kind::kRelu, .is_listed = true},
    {.op_type = "Round", .kind = Kind::kRound},
    {.op_type = "Selu",
     .kind = Kind::kSelu,
     .alpha = "alpha",
     .alpha_default = 1.67326319217681884765625F,
     .beta = "gamma",
     .beta_default = 1.05070102214813232421875F},
    {.op_type = "Sigmoid", .kind = Kind::kSigmoid, .is_listed = true},
    {.op_type = "Sign", .kind = Kind::kSign},
    {.op_type = "Sin", .kind = Kind::kSin},
    {.op_type = "Sinh", .kind = Kind::kSinh},
    {.op_type = "Softplus", .kind = Kind::kSoftplus, .is_listed = true},
    {.op_type = "Softsign", .kind = Kind::kSoftsign, .is_listed = true},
    {.op_type = "Sqrt", .kind = Kind::kSqrt},
    {.op_type = "Tan", .kind = Kind::kTan},
    {.op_type = "Tanh", .kind = Kind::kTanh, .is_listed = true},
    {.op_type = "ThresholdedRelu",
     .kind = Kind::kThresholded,
     .alpha = "alpha",
     .alpha_default = 1.0F,
     .is_listed = true},
};

template <typename Predicate>
const ActivationEntry* find(Predicate&& predicate) {
  const auto* const found = std::ranges::find_if(kActivations, predicate);
  return found == std::end(kActivations) ? nullptr : found;
}

bool equal_but_for_case(std::string_view name, std::string_view lower_case_name) {
  return std::ranges::equal(name, lower_case_name, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
  });
}

}  // namespace

std::span<const ActivationEntry> activations() { return kActivations; }

const ActivationEntry* find_activation(std::string_view op_type) {
  return find([=](const ActivationEntry& entry) { return entry.op_type == op_type; });
}

const ActivationEntry* find_activation(ir::ActivationKind kind) {
  return find([=](const ActivationEntry& entry) { return entry.kind == kind; });
}

const ActivationEntry* find_listed_activation(std::string_view lower_case_name) {
  return find([=](const ActivationEntry& entry) {
    return entry.is_listed && equal_but_for_case(entry.op_type, lower_case_name);
  });
}

}  // namespace halftone::formats::onnx
