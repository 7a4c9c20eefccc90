// SPDX-License-Identifier: Apache-2.0
// For tests: memory behind which nothing may be read or written.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>
#include <span>

namespace halftone {

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
