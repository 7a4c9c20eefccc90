// SPDX-License-Identifier: Apache-2.0
// What config.json of a Hugging Face folder means where it does not say.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace halftone::lm {

/// The keys that a model_type has, with the values that the package transformers gives those that a
/// file leaves out; null for those that are none then.
nlohmann::json hf_defaults(std::string_view model_type);

}  // namespace halftone::lm
