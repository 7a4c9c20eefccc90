// SPDX-License-Identifier: Apache-2.0
// Progress reports of long-running work to its caller; the library itself never prints.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

namespace halftone {

/// Called from time to time on the thread that started the work.
/// @param fraction  completed part of the work, in [0, 1]
/// @param activity  current step, e.g. "fitting dense1"
using ProgressSink = std::function<void(double fraction, std::string_view activity)>;

/// The progress of a part of some work, from one fraction of it to another.
/// @param whole  may be empty
inline ProgressSink part_of(ProgressSink whole, double begin, double end) {
  if (!whole) return {};
  return [whole = std::move(whole), begin, end](double fraction, std::string_view activity) {
    whole(begin + (end - begin) * fraction, activity);
  };
}

}  // namespace halftone
