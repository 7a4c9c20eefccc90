// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/buffer.h"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include <cstring>
#include <limits>
#include <new>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"

namespace halftone {
namespace {

/// Pages of this size cause fewer TLB misses: every run reads all weights.
constexpr std::size_t kHugePage = std::size_t{1} << 21;

std::align_val_t alignment_of(std::size_t size_bytes) {
  return std::align_val_t{size_bytes < kHugePage ? AlignedBuffer::kAlignment : kHugePage};
}

/// Requests huge pages for the part that whole ones cover; a refusal affects speed only.
void advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size_bytes) {
#ifdef MADV_HUGEPAGE
  const std::size_t whole = size_bytes / kHugePage * kHugePage;
  if (whole != 0) static_cast<void>(madvise(memory, whole, MADV_HUGEPAGE));
#endif
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes > std::numeric_limits<std::ptrdiff_t>::max() - 2 * kAlignment) {
    fail(ErrorKind::kMemory, "a buffer of " + std::to_string(size_bytes) + " bytes is too large");
  }
  const std::size_t padded_bytes =
      (size_bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
  require_memory(padded_bytes, "a buffer");
  void* memory = ::operator new[](padded_bytes, alignment_of(size_bytes), std::nothrow);
  if (memory == nullptr) {
    fail(ErrorKind::kMemory,
         "out of memory: " + std::to_string(size_bytes) + " bytes are not available");
  }
  advise_huge_pages(memory, padded_bytes);
  std::memset(memory, 0, padded_bytes);
  data_ = {static_cast<std::byte*>(memory), Free(alignment_of(size_bytes))};
}

void AlignedBuffer::Free::operator()(std::byte* data) const noexcept {
  ::operator delete[](data, alignment);
}

}  // namespace halftone
