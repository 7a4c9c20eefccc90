// SPDX-License-Identifier: Apache-2.0
// For tests of what happens without memory: a limit on the address space, and memory with
// inaccessible pages behind it.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <new>
#include <span>

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

/// Bytes that end where a page without access begins, so that they are aligned no better than their
/// number is.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t size)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        mapped_((size + page_ - 1) / page_ * page_ + page_),
        size_(size) {
    void* const pages =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    first_ = static_cast<std::byte*>(pages);
    mprotect(first_ + mapped_ - page_, page_, PROT_NONE);
  }
  ~GuardedMemory() { munmap(first_, mapped_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const {
    return {first_ + mapped_ - page_ - size_, size_};
  }

 private:
  std::size_t page_;
  std::size_t mapped_;
  std::size_t size_;
  std::byte* first_ = nullptr;
};

}  // namespace halftone
