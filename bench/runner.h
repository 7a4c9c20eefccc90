// SPDX-License-Identifier: Apache-2.0
// Runs suites on Google Benchmark. The repetitions of all cases run in random order, so that other
// load affects all cases alike. Suites on one thread use processor time, others wall time.
#pragma once

#include <regex>

#include "bench/case.h"
#include "bench/result.h"

namespace halftone::bench {

struct RunOptions {
  int repetitions = 9;
  double min_seconds = 0.05;  ///< of one repetition
};

/// Initializes Google Benchmark. Call it once, before anything else.
void initialize(const RunOptions& options);

/// Prepares and measures the cases whose names match, their baselines, and the limits that bound
/// them. No rows if nothing matches.
/// @throws Error as the cases' prepare()
Outcome run_suite(const Suite& suite, const std::regex& filter);

}  // namespace halftone::bench
