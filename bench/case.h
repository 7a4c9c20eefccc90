// SPDX-License-Identifier: Apache-2.0
// Cases of the benchmark suite.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine.h"

namespace halftone::bench {

/// The minimum work of one run.
struct Work {
  double bytes = 0;             ///< of weights, read once
  std::optional<Limit> memory;  ///< where the weights are before a run; none: unknown
  double operations = 0;
  std::optional<Limit> unit;  ///< unit that executes the operations; none: unknown
};

/// A prepared case that can run any number of times.
struct Prepared {
  std::function<void()> run;  ///< none: another process runs it
  std::string kernel;         ///< the kernel of a plan or the primitive of a peer
  std::optional<Work> work;   ///< none if no bound makes sense, as for whole networks
  /// Runs it some times in another process; returns the seconds of one run.
  std::function<double(std::size_t runs)> seconds{};
};

struct Case {
  std::string name;                    ///< unique in the suite: "gemv/W2/hot"
  std::vector<std::string> baselines;  ///< names of the cases to compare with, one per
                                       ///< Suite::comparisons; "" for none
  std::function<Prepared()> prepare;
  int threads = 1;
};

struct Suite {
  std::string name;
  std::string title;
  std::vector<std::string> comparisons;  ///< headings of the columns of ratios
  std::vector<Case> cases;
};

}  // namespace halftone::bench
