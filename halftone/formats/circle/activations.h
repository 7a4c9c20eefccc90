// SPDX-License-Identifier: Apache-2.0
// The activations that are one operator of the file, for the reader and the writer.
#pragma once

#include <optional>
#include <vector>

#include "halftone/formats/circle/operator_code.h"
#include "halftone/ir/ops/activation.h"

namespace halftone::formats::circle {

/// The builtin operator that computes exactly this function, if there is one. Its options hold the
/// alpha of a LeakyRelu and which Gelu it is.
std::optional<OperatorCode> builtin_unary(const ir::Activation& activation);

/// The operators that are one activation and have no options.
std::vector<OperatorCode> plain_activations();
/// The function of a builtin operator without options; nothing for any other operator.
std::optional<ir::Activation> activation_of(OperatorCode code);

}  // namespace halftone::formats::circle
