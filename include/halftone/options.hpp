// SPDX-License-Identifier: Apache-2.0
// What long work uses, and whom it tells.
#pragma once

#include <functional>
#include <string_view>

#include "halftone/export.hpp"
#include "halftone/types/resources.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// Called between two pieces of work, on the thread that has called Halftone.
  /// @param fraction  completed part of the work, in [0, 1]
  /// @param activity  the current step: "fitting dense1"
  /// @return          false to end the work: the call throws Error kInterrupted. What the function
  ///                  throws itself ends the work too, and leaves the call unchanged.
  using Progress = std::function<bool(double fraction, std::string_view activity)>;

}  // namespace v0
}  // namespace halftone
