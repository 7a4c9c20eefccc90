// SPDX-License-Identifier: Apache-2.0
// Finds weights that cannot be fitted before anything is computed.
#pragma once

#include "halftone/lm/model/open_model.h"

namespace halftone::lm {

/// Decodes all weights of a model once, a few rows at a time.
/// @throws Error kFormat if one is not a number or above 1e15: names the tensor and the first such
///         element; as Weight::decode()
void check_weights(const ModelParts& model);

}  // namespace halftone::lm
