// SPDX-License-Identifier: Apache-2.0
// The processor that the program runs on.
#pragma once

#include <string>

namespace halftone {

/// The name of the processor's model as Linux reports it, e.g. "AMD EPYC 7763"; on Arm the numbers
/// of implementer and part, e.g. "0x41 0xd0c". "unknown" if there is neither.
std::string processor_name();

}  // namespace halftone
