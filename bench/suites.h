// SPDX-License-Identifier: Apache-2.0
// The measured shapes and encodings.
#pragma once

#include <vector>

#include "bench/case.h"

namespace halftone::bench {

/// @param threads  of every suite except "threads", which compares one thread with two
std::vector<Suite> all_suites(int threads);

}  // namespace halftone::bench
