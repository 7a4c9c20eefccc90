// SPDX-License-Identifier: Apache-2.0
// What one thread at a time may use.
#pragma once

#include <atomic>
#include <string>

#include "halftone/base/error.h"

namespace halftone {

/// Marks something as in use during its lifetime.
class ExclusiveUse {
 public:
  /// @param what  in messages: "session"
  /// @throws Error kUsage if it is in use: "session: expected one thread at a time, ..."
  ExclusiveUse(std::atomic<bool>& used, const std::string& what) : used_(used) {
    if (used_.exchange(true)) {
      fail(ErrorKind::kUsage, what +
                                  ": expected one thread at a time, found it running in another; "
                                  "create a " +
                                  what + " for each");
    }
  }
  ~ExclusiveUse() { used_ = false; }
  ExclusiveUse(const ExclusiveUse&) = delete;
  ExclusiveUse& operator=(const ExclusiveUse&) = delete;

 private:
  std::atomic<bool>& used_;
};

}  // namespace halftone
