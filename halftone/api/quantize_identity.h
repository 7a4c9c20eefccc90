// SPDX-License-Identifier: Apache-2.0
// What the state of an interrupted quantization must agree with. Private to this folder.
#pragma once

#include "halftone/api/language_quantization.h"
#include "halftone/api/language_sensitivity.h"
#include "halftone/base/state/state_identity.h"

namespace halftone {

/// The parts of a job on which fitted codes depend. Files are told apart by the hashes of their
/// bytes: their names and times do not matter.
/// @throws Error kIo if a file cannot be read
JobIdentity identity_of(const LanguageQuantizeJob& job);
/// Likewise of what is measured.
JobIdentity identity_of(const LanguageSensitivityJob& job);

}  // namespace halftone
