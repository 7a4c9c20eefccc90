// SPDX-License-Identifier: Apache-2.0
// What import and export of the domain "ai.halftone" share.
#pragma once

#include <cstdint>
#include <optional>

#include "halftone/ir/ops/activation.h"

namespace halftone::formats::onnx {

/// The activation of a fused_activation_function code (circle's: 0 none to 5 sign bit).
/// @throws Error kFormat for other codes
ir::ActivationKind activation_of_code(std::int64_t code);

/// The code of an activation; none if there is no code for it.
std::optional<std::int64_t> code_of_activation(const ir::Activation& activation);

}  // namespace halftone::formats::onnx
