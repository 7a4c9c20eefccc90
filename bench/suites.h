// SPDX-License-Identifier: Apache-2.0
// Lists the measured shapes and number systems.
#pragma once

#include <vector>

#include "bench/case.h"

namespace halftone::bench {

/// @param threads  of every suite but "threads", which compares one with two
std::vector<Suite> all_suites(int threads);

}  // namespace halftone::bench
