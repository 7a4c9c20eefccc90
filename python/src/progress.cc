// SPDX-License-Identifier: Apache-2.0
#include "python/src/progress.h"

namespace halftone::python {

namespace nb = nanobind;

void Reporter::report(double fraction, std::string_view activity) {
  // Seldom enough to cost nothing, often enough for a bar and for fingers on Ctrl-C.
  constexpr auto kInterval = std::chrono::milliseconds(50);
  const auto now = Clock::now();
  if (now < next_ && activity == activity_) return;
  activity_ = activity;
  next_ = now + kInterval;
  with_python([&] {
    if (!callback_.is_none()) callback_(fraction, nb::str(activity.data(), activity.size()));
  });
}

}  // namespace halftone::python
