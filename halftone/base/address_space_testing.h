// SPDX-License-Identifier: Apache-2.0
// Test support: a process that may map only little more memory.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace halftone {

/// Limits the address space of this process to what is mapped now and some bytes more, until the
/// end of the scope.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::uint64_t more_bytes) {
    getrlimit(RLIMIT_AS, &before_);
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit less = before_;
    less.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + more_bytes;
    rlimit kept{};
    holds_ = setrlimit(RLIMIT_AS, &less) == 0 && getrlimit(RLIMIT_AS, &kept) == 0 &&
             kept.rlim_cur == less.rlim_cur;
  }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

  /// Whether the system keeps the limit; emulators may not.
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  rlimit before_{};
  bool holds_ = false;
};

}  // namespace halftone
