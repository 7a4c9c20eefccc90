// SPDX-License-Identifier: Apache-2.0
// What the suite measures, and how it is described.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine.h"

namespace halftone::bench {

/// What one run must at least do.
struct Work {
  double bytes = 0;             ///< of weights, read once
  std::optional<Limit> memory;  ///< where these are before; nothing: no such bound is known
  double operations = 0;
  std::optional<Limit> unit;  ///< what does the operations; nothing: the same
};

/// Something ready to run, as often as one likes.
struct Prepared {
  std::function<void()> run;
  std::string kernel;        ///< what runs: a kernel of a plan, a primitive of a peer
  std::optional<Work> work;  ///< nothing where no bound makes sense, as for whole networks
};

struct Case {
  std::string name;                    ///< unique in the suite: "gemv/W2/hot"
  std::vector<std::string> baselines;  ///< names of what it is compared with, one per
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
