// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/fully_connected.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "halftone/base/error.h"

namespace halftone::formats::onnx {
namespace {

/// By code.
constexpr ir::ActivationKind kKinds[] = {
    ir::ActivationKind::kIdentity, ir::ActivationKind::kRelu, ir::ActivationKind::kReluN1To1,
    ir::ActivationKind::kRelu6,    ir::ActivationKind::kTanh, ir::ActivationKind::kSignBit};

}  // namespace

ir::ActivationKind activation_of_code(std::int64_t code) {
  if (code < 0 || code >= std::ssize(kKinds)) {
    fail(ErrorKind::kFormat, "activation: expected 0 to " + std::to_string(std::ssize(kKinds) - 1) +
                                 ", found " + std::to_string(code));
  }
  return kKinds[code];
}

std::optional<std::int64_t> code_of_activation(const ir::Activation& activation) {
  const auto* found = std::ranges::find(kKinds, activation.kind);
  if (found == std::end(kKinds)) return std::nullopt;
  return std::distance(std::begin(kKinds), found);
}

}  // namespace halftone::formats::onnx
