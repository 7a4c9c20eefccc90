// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/paged_buffer.h"

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"

namespace halftone {

PagedBuffer::~PagedBuffer() { release(); }

PagedBuffer::PagedBuffer(PagedBuffer&& other) noexcept { *this = std::move(other); }

PagedBuffer& PagedBuffer::operator=(PagedBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  plain_ = std::move(other.plain_);
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  file_ = std::exchange(other.file_, -1);
  page_bytes_ = other.page_bytes_;
  page_of_ = std::move(other.page_of_);
  uses_ = std::move(other.uses_);
  first_unused_ = other.first_unused_;
  num_shared_ = std::exchange(other.num_shared_, 0);
  return *this;
}

#ifdef MFD_CLOEXEC

namespace {

/// Systems allow 65530 by default, for everything that a process maps.
constexpr std::size_t kMaxMaps = std::size_t{1} << 15;
/// Of all buffers, beyond one for each.
std::atomic<std::size_t> num_maps = 0;

[[noreturn]] void fail_to_map() {
  fail(ErrorKind::kMemory, "out of memory: the system maps no more pages");
}

/// A child process would write into the same memory: it does not get it.
void keep_from_children(std::byte* memory, std::size_t count) {
  static_cast<void>(madvise(memory, count, MADV_DONTFORK));
}

}  // namespace

PagedBuffer::PagedBuffer(std::size_t size_bytes, bool shares) : size_bytes_(size_bytes) {
  page_bytes_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  // With bytes to read behind the end.
  const std::size_t pages = (size_bytes + AlignedBuffer::kAlignment) / page_bytes_ + 1;
  const bool fits = pages < std::numeric_limits<std::uint32_t>::max();
  if (shares && fits) {
    require_memory(pages * page_bytes_, "a buffer");
    file_ = memfd_create("halftone", MFD_CLOEXEC);
  }
  if (file_ >= 0) {
    void* memory = MAP_FAILED;
    if (ftruncate(file_, static_cast<off_t>(pages * page_bytes_)) == 0) {
      memory = mmap(nullptr, pages * page_bytes_, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, file_, 0);
    }
    if (memory != MAP_FAILED) {
      data_ = static_cast<std::byte*>(memory);
      keep_from_children(data_, pages * page_bytes_);
      page_of_.resize(pages);
      std::iota(page_of_.begin(), page_of_.end(), 0U);
      uses_.assign(pages, 1);
      first_unused_ = pages;
      return;
    }
    close(std::exchange(file_, -1));
  }
  plain_ = AlignedBuffer(size_bytes);
  data_ = plain_.data();
}

void PagedBuffer::release() noexcept {
  if (file_ < 0) return;
  num_maps -= breaks(0, num_pages());
  munmap(data_, num_pages() * page_bytes_);
  close(file_);
}

bool PagedBuffer::map(std::size_t first, std::size_t end, std::size_t page) {
  std::byte* const memory = data_ + first * page_bytes_;
  const std::size_t count = (end - first) * page_bytes_;
  const void* mapped =
      mmap(memory, count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_,
           static_cast<off_t>(page * page_bytes_));
  if (mapped == MAP_FAILED) return false;
  keep_from_children(memory, count);
  num_maps -= breaks(first, end);
  for (std::size_t i = first; i < end; ++i) {
    const std::uint32_t before =
        std::exchange(page_of_[i], static_cast<std::uint32_t>(page + i - first));
    if (uses_[page_of_[i]]++ > 0) ++num_shared_;
    if (--uses_[before] > 0) {
      --num_shared_;
    } else {
      first_unused_ = std::min<std::size_t>(first_unused_, before);
    }
  }
  num_maps += breaks(first, end);
  return true;
}

std::size_t PagedBuffer::breaks(std::size_t first, std::size_t end) const {
  std::size_t count = 0;
  for (std::size_t i = std::max<std::size_t>(first, 1); i < std::min(end + 1, num_pages()); ++i) {
    if (page_of_[i] != page_of_[i - 1] + 1) ++count;
  }
  return count;
}

std::size_t PagedBuffer::share(std::size_t from, std::size_t to, std::size_t count) {
  std::size_t done = 0;
  while (done < count && num_maps < kMaxMaps) {
    std::size_t end = done + 1;  // of pages that follow each other in the file
    while (end < count && page_of_[from + end] == page_of_[from + end - 1] + 1) ++end;
    const std::vector<std::uint32_t> before(
        page_of_.begin() + static_cast<std::ptrdiff_t>(to + done),
        page_of_.begin() + static_cast<std::ptrdiff_t>(to + end));
    if (!map(to + done, to + end, page_of_[from + done])) break;
    for (const std::uint32_t page : before) {
      if (uses_[page] == 0) free_page(page);
    }
    done = end;
  }
  return done;
}

void PagedBuffer::free_page(std::size_t page) {
  (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(page * page_bytes_), static_cast<off_t>(page_bytes_));
}

std::size_t PagedBuffer::unused_page(std::size_t wanted) {
  if (uses_[wanted] == 0) return wanted;
  while (uses_[first_unused_] != 0) ++first_unused_;
  return first_unused_;
}

void PagedBuffer::own(std::size_t page) {
  // There are as many pages as uses, so that one is unused where another one has two uses.
  const std::size_t mine = unused_page(page);
  const auto written = pwrite(file_, data_ + page * page_bytes_, page_bytes_,
                              static_cast<off_t>(mine * page_bytes_));
  if (written != static_cast<ssize_t>(page_bytes_)) fail_to_map();
  if (!map(page, page + 1, mine)) fail_to_map();
}

std::size_t PagedBuffer::memory_bytes() const {
  struct stat status {};
  if (file_ < 0 || fstat(file_, &status) != 0) return size_bytes_;
  constexpr std::size_t kBlock = 512;  // as POSIX says
  return static_cast<std::size_t>(status.st_blocks) * kBlock;
}

void PagedBuffer::clear() {
  if (file_ < 0) {
    std::ranges::fill(bytes(), std::byte{0});
    return;
  }
  (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(num_pages() * page_bytes_));
  // Pages that nobody shares may stay where they are.
  for (std::size_t page = 0; page < num_pages(); ++page) {
    if (uses_[page_of_[page]] > 1 && !map(page, page + 1, unused_page(page))) fail_to_map();
  }
}

#else

PagedBuffer::PagedBuffer(std::size_t size_bytes, bool /*shares*/)
    : plain_(size_bytes), data_(plain_.data()), size_bytes_(size_bytes) {}
void PagedBuffer::release() noexcept {}
std::size_t PagedBuffer::share(std::size_t /*from*/, std::size_t /*to*/, std::size_t /*count*/) {
  return 0;
}
void PagedBuffer::own(std::size_t /*page*/) {}
std::size_t PagedBuffer::memory_bytes() const { return size_bytes_; }
void PagedBuffer::clear() { std::ranges::fill(bytes(), std::byte{0}); }

#endif

void PagedBuffer::copy(std::size_t from, std::size_t to, std::size_t count) {
  const auto move = [&](std::size_t offset, std::size_t part) {
    if (part == 0) return;
    prepare_write(to + offset, part);
    std::memcpy(data_ + to + offset, data_ + from + offset, part);
  };
  if (file_ < 0 || from % page_bytes_ != to % page_bytes_) return move(0, count);
  const std::size_t before = std::min(count, (page_bytes_ - from % page_bytes_) % page_bytes_);
  const std::size_t pages = share((from + before) / page_bytes_, (to + before) / page_bytes_,
                                  (count - before) / page_bytes_);
  move(0, before);
  const std::size_t done = before + pages * page_bytes_;
  move(done, count - done);
}

void PagedBuffer::prepare_write(std::size_t begin, std::size_t count) {
  if (num_shared_ == 0 || count == 0) return;
  for (std::size_t page = begin / page_bytes_; page * page_bytes_ < begin + count; ++page) {
    if (uses_[page_of_[page]] > 1) own(page);
  }
}

}  // namespace halftone
