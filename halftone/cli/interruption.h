// SPDX-License-Identifier: Apache-2.0
// Turns Ctrl-C into a request to stop, so that the work can end in an orderly way.
#pragma once

#include <array>
#include <csignal>

namespace halftone::cli {

/// During its lifetime SIGTERM and the first SIGINT are requests to stop; a second SIGINT ends the
/// process as usual. Signals that the process inherited as ignored stay ignored. At most one
/// instance exists at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Whether a signal has arrived since construction.
  [[nodiscard]] static bool is_wanted();

 private:
  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};
  std::array<struct sigaction, 2> before_{};
};

}  // namespace halftone::cli
