// SPDX-License-Identifier: Apache-2.0
// How long-running work tells its caller where it stands; the library itself never prints.
#pragma once

#include <functional>
#include <string_view>

namespace halftone {

/// Called now and then from the thread that started the work.
/// @param fraction  done, in [0, 1]
/// @param activity  what is being done, e.g. "fitting dense1"
using ProgressSink = std::function<void(double fraction, std::string_view activity)>;

}  // namespace halftone
