// SPDX-License-Identifier: Apache-2.0
// Google Benchmark as the suites use it: the repetitions of all cases in random order, so that
// whatever else a machine does falls on all of them. Suites on one thread are timed by what the
// process used of a processor, suites with more in them by the clock on the wall.
#pragma once

#include <regex>

#include "bench/case.h"
#include "bench/result.h"

namespace halftone::bench {

struct RunOptions {
  int repetitions = 9;
  double min_seconds = 0.05;  ///< of one repetition
};

/// Sets Google Benchmark up. Call it once, first.
void initialize(const RunOptions& options);

/// Prepares and measures the cases whose names have a match, what they are compared with, and the
/// limits that bound them. No rows if nothing matches.
/// @throws Error as the cases' prepare()
Outcome run_suite(const Suite& suite, const std::regex& filter);

}  // namespace halftone::bench
