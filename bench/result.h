// SPDX-License-Identifier: Apache-2.0
// From times to tables: medians, ratios, and fractions of the machine's limits.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/case.h"

namespace halftone::bench {

/// The measurements of a case.
struct Row {
  std::string name;
  std::vector<std::string> baselines;  ///< as in Case
  std::string kernel;
  std::optional<Work> work;
  std::vector<double> seconds;  ///< of a run, one per repetition; not empty
  int threads = 1;
};

/// Bytes or operations per second.
using Rates = std::map<Limit, double>;

/// The measurements of a suite.
struct Outcome {
  std::string name;
  std::string title;
  std::vector<std::string> comparisons;
  std::vector<Row> rows;
  Rates rates;              ///< of the limits, measured between the rows
  double wall_per_cpu = 1;  ///< of the rows on one thread; above 1 the machine was busy
};

/// The median. @pre not empty
double median(std::vector<double> values);
/// The median absolute deviation from the median, relative to the median.
double spread(const std::vector<double>& values);

/// The minimum time that one core needs for some work.
struct Bound {
  double seconds = 0;
  Limit limit = Limit::kL1;  ///< the limit that determines it
};
/// The larger of the times to read the bytes and to execute the operations, as far as known.
std::optional<Bound> bound_of(const Work& work, const Rates& rates);

/// A table, followed by a line with the limits and a warning if the machine was busy.
std::string to_text(const Outcome& outcome);
nlohmann::ordered_json to_json(const Outcome& outcome);

}  // namespace halftone::bench
