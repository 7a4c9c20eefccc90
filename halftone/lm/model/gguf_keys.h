// SPDX-License-Identifier: Apache-2.0
// The keys of GGUF files that describe a language model.
#pragma once

#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// The description that the keys of a file give, with factors of rotary positions that it has as
/// tensors (rope_freqs, rope_factors_short, rope_factors_long). Checked.
/// @throws Error kFormat if keys are missing or have values out of range, named; kUnsupported for
///         an architecture or a way to scale positions that is not described here
Description describe_gguf(const formats::GgufFile& file);

}  // namespace halftone::lm
