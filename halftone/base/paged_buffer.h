// SPDX-License-Identifier: Apache-2.0
// Memory whose copies take no memory until they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"

namespace halftone {

/// Owns zero-initialised bytes as AlignedBuffer does, of which a part may be a copy of another one:
/// both are then the same pages of memory, copied when one of them is written. The page table of
/// the processor finds them, so that readers need not know. Pages take memory when they are first
/// touched.
///
/// A child process that was forked does not have the memory.
///
/// Where the system has no such memory (it needs Linux), or a part does not begin at the same place
/// of a page as its copy, copies take memory at once.
class PagedBuffer {
 public:
  PagedBuffer() = default;
  /// @param shares  else the memory is an AlignedBuffer
  /// @throws Error kMemory as AlignedBuffer
  explicit PagedBuffer(std::size_t size_bytes, bool shares = true);
  ~PagedBuffer();
  PagedBuffer(PagedBuffer&& other) noexcept;
  PagedBuffer& operator=(PagedBuffer&& other) noexcept;

  [[nodiscard]] std::span<std::byte> bytes() { return {data_, size_bytes_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }

  /// Makes `count` bytes from `to` on those from `from` on. Both lie inside and do not overlap.
  /// @throws Error kMemory if the system refuses
  void copy(std::size_t from, std::size_t to, std::size_t count);
  /// To be called before bytes are written: pages that are shared get memory of their own.
  /// @throws Error kMemory if the system refuses; nothing has changed for readers then
  void prepare_write(std::size_t begin, std::size_t count);
  /// Makes all bytes zero.
  void clear();

  /// Bytes of copies that take no memory.
  [[nodiscard]] std::size_t shared_bytes() const { return num_shared_ * page_bytes_; }
  /// Memory that the pages take now, as the system says.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  [[nodiscard]] std::size_t num_pages() const { return page_of_.size(); }
  /// Maps pages of the buffer to those of the file from `page` on. @return false: it was refused
  bool map(std::size_t first, std::size_t end, std::size_t page);
  /// Pages from `first` to `end` that do not follow the one before in the file.
  [[nodiscard]] std::size_t breaks(std::size_t first, std::size_t end) const;
  /// @return  number of the first pages that are shared now: all unless there are too many maps
  std::size_t share(std::size_t from, std::size_t to, std::size_t count);
  void free_page(std::size_t page);
  /// Gives a page memory of its own.
  void own(std::size_t page);
  /// A page of the file that has no use: `wanted` if that has none. @pre there is one
  std::size_t unused_page(std::size_t wanted);
  void release() noexcept;

  AlignedBuffer plain_;  ///< where nothing is shared
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  int file_ = -1;  ///< of the pages; -1: there are none
  std::size_t page_bytes_ = 0;
  std::vector<std::uint32_t> page_of_;  ///< by page of the buffer: the page of the file
  std::vector<std::uint32_t> uses_;     ///< by page of the file
  std::size_t first_unused_ = 0;        ///< pages of the file before it have uses
  std::size_t num_shared_ = 0;          ///< uses of pages beyond the first one of each
};

}  // namespace halftone
