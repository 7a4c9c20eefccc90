// SPDX-License-Identifier: Apache-2.0
// The processor that the program runs on.
#pragma once

#include <string>

namespace halftone {

/// The name of the processor's model as Linux reports it, e.g. "AMD EPYC 7763"; on Arm the numbers
/// of implementer and part, e.g. "0x41 0xd0c". "unknown" if there is neither.
std::string processor_name();

/// Cores that this process may keep busy, >= 1: those it may run on, but no more than the quotas of
/// its control groups grant, as of a container with `--cpus 2`, rounded up.
/// @param root  prefix of /proc and /sys, for tests
[[nodiscard]] int usable_cores(const std::string& root = "");

}  // namespace halftone
