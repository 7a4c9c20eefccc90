// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a wish that work may fulfil in good order.
#pragma once

#include <array>
#include <csignal>

namespace halftone::cli {

/// While it lives the first SIGINT or SIGTERM is a wish to stop, and a second one ends the process
/// as ever. A signal that the process was started to ignore stays ignored. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Whether a signal came since it was made.
  [[nodiscard]] static bool is_wanted();

 private:
  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};
  std::array<struct sigaction, 2> before_{};
};

}  // namespace halftone::cli
