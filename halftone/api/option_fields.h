// SPDX-License-Identifier: Apache-2.0
// The fields of the options that the C++ API, the command line and Python share.
#pragma once

#include <string>

#include "halftone/base/fields/fields.h"
#include "halftone/types/language.hpp"
#include "halftone/types/language_distill.hpp"
#include "halftone/types/language_quantize.hpp"
#include "halftone/types/train.hpp"

namespace halftone {

Fields fields_of(v0::TrainOptions& options);
/// Without stages, features and memory.
Fields fields_of(v0::TeachingOptions& options);
Fields fields_of(v0::LanguageDistillOptions& options);
/// Where a model runs: of all options that have it.
Field device_field(std::string& device);
Fields fields_of(v0::LanguageModelOptions& options);
/// What quantizing and measuring a language model have in common.
Fields fields_of(v0::LanguageFitOptions& options);
/// These too, without the rules of types.
Fields fields_of(v0::LanguageQuantizeOptions& options);
Fields fields_of(v0::SamplingOptions& options);
/// These too, without the texts at which it stops.
Fields fields_of(v0::GenerateOptions& options);

}  // namespace halftone
