// SPDX-License-Identifier: Apache-2.0
// Cases: what the suite measures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine.h"

namespace halftone::bench {

/// The least work of one run.
struct Work {
  double bytes = 0;             ///< of weights, read once
  std::optional<Limit> memory;  ///< where they lie before a run; none: unknown
  double operations = 0;
  std::optional<Limit> unit;  ///< what executes the operations; none: unknown
};

/// A prepared case, which can run any number of times.
struct Prepared {
  std::function<void()> run;
  std::string kernel;        ///< the kernel of a plan or the primitive of a peer
  std::optional<Work> work;  ///< none where no bound makes sense, as for whole networks
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
