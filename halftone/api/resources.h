// SPDX-License-Identifier: Apache-2.0
// What callers of a library let it use.
#pragma once

#include <string>

#include "halftone/base/thread_settings.h"
#include "halftone/types/resources.hpp"

namespace halftone {

using v0::Resources;

/// The SIMD target that the resources name; "auto" is the widest too.
/// @return one of kernels::simd_targets(), if settings_for() does not throw
std::string simd_of(const Resources& resources);

/// Settings with these resources, whatever the process has set for its own threads.
/// @throws Error kUsage if the number of threads is out of range, or this processor has no such
///         SIMD target
ThreadSettings settings_for(const Resources& resources);

}  // namespace halftone
