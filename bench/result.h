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
  double wall_per_cpu = 1;  ///< above 1 the machine was busy; 1 with several threads
};

/// How fast a core reads or computes.
struct Rate {
  double per_second = 0;  ///< bytes or operations
  std::string row{};      ///< whose speed this is; empty: that of our own loop
};
using Rates = std::map<Limit, Rate>;

/// Median seconds of the cases of an earlier run, by name.
using Earlier = std::map<std::string, double>;

/// The measurements of a suite.
struct Outcome {
  std::string name;
  std::string title;
  std::vector<std::string> comparisons;
  std::vector<Row> rows;
  Rates rates;      ///< of the limits, measured between the rows
  Earlier earlier;  ///< empty: nothing to compare with
};

/// The median. @pre not empty
double median(std::vector<double> values);
/// The median absolute deviation from the median, relative to the median.
double spread(const std::vector<double>& values);

/// Whether other load makes a row doubtful: it waited for more than a tenth of its time, or its
/// repetitions differ by more than a tenth.
bool is_disturbed(const Row& row);

/// Raises each limit to the speed of the fastest row on one thread, so that none exceeds it.
void raise_limits(Outcome& outcome);

/// Speed-up of a row over the earlier run; NaN if that lacks it.
double speedup_over_earlier(const Row& row, const Earlier& earlier);

/// The minimum time that one core needs for some work.
struct Bound {
  double seconds = 0;
  Limit limit = Limit::kL1;  ///< the limit that determines it
};
/// The larger of the times to read the bytes and to execute the operations, as far as known.
std::optional<Bound> bound_of(const Work& work, const Rates& rates);

/// A table, followed by a line with the limits and one that explains the mark of disturbed rows.
std::string to_text(const Outcome& outcome);
nlohmann::ordered_json to_json(const Outcome& outcome);

}  // namespace halftone::bench
