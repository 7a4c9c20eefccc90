// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/activations.h"

namespace halftone::formats::circle {
namespace {

using Kind = ir::ActivationKind;

struct ActivationEntry {
  OperatorCode code;
  ir::Activation activation;
  bool has_options = false;  ///< of which an alpha is free
  [[nodiscard]] bool fits(const ir::Activation& other) const {
    const bool is_free = has_options || activation.alpha == 0;  // parameters without a meaning
    return activation.kind == other.kind && (is_free || activation == other);
  }
};

constexpr ActivationEntry kActivations[] = {
    {OperatorCode::kRelu, {Kind::kRelu}},
    {OperatorCode::kReluN1To1, {Kind::kReluN1To1}},
    {OperatorCode::kRelu6, {Kind::kRelu6}},
    {OperatorCode::kLeakyRelu, {Kind::kLeakyRelu}, true},
    {OperatorCode::kElu, {Kind::kElu, 1}},
    {OperatorCode::kTanh, {Kind::kTanh}},
    {OperatorCode::kLogistic, {Kind::kSigmoid}},
    {OperatorCode::kHardSwish, {Kind::kHardSwish}},
    {OperatorCode::kGelu, {Kind::kGelu}, true},
    {OperatorCode::kGelu, {Kind::kGeluTanh}, true},
    {OperatorCode::kSign, {Kind::kSign}},
    {OperatorCode::kExp, {Kind::kExp}},
    {OperatorCode::kLog, {Kind::kLog}},
    {OperatorCode::kSqrt, {Kind::kSqrt}},
    {OperatorCode::kAbs, {Kind::kAbs}},
    {OperatorCode::kNeg, {Kind::kNeg}},
    {OperatorCode::kSquare, {Kind::kSquare}},
    {OperatorCode::kFloor, {Kind::kFloor}},
    {OperatorCode::kCeil, {Kind::kCeil}},
    {OperatorCode::kRound, {Kind::kRound}},
    {OperatorCode::kSin, {Kind::kSin}},
    {OperatorCode::kCos, {Kind::kCos}},
};

}  // namespace

std::optional<OperatorCode> builtin_unary(const ir::Activation& activation) {
  for (const ActivationEntry& entry : kActivations) {
    if (entry.fits(activation)) return entry.code;
  }
  return std::nullopt;
}

std::vector<OperatorCode> plain_activations() {
  std::vector<OperatorCode> codes;
  for (const ActivationEntry& entry : kActivations) {
    if (!entry.has_options) codes.push_back(entry.code);
  }
  return codes;
}

std::optional<ir::Activation> activation_of(OperatorCode code) {
  for (const ActivationEntry& entry : kActivations) {
    if (entry.code == code && !entry.has_options) return entry.activation;
  }
  return std::nullopt;
}

}  // namespace halftone::formats::circle
