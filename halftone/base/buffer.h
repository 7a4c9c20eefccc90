// SPDX-License-Identifier: Apache-2.0
// Owner of kernel memory.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace halftone {

/// Owns `size` zero-initialised bytes, aligned to 64 and followed by at least 64 readable zero
/// bytes, so that a kernel may load a whole vector at the last element. Large buffers use huge
/// pages if the system has them.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;
  /// The next multiple of kAlignment, for parts within a buffer.
  static constexpr std::size_t rounded_up(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  AlignedBuffer() = default;
  /// @throws Error kMemory if the size exceeds the address space, as require_memory() (checked
  ///         before the allocation), or if the allocation fails
  explicit AlignedBuffer(std::size_t size_bytes);
  /// A moved-from buffer is empty.
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::move(other.data_)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
    return *this;
  }

  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] std::byte* data() { return data_.get(); }
  [[nodiscard]] const std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::span<std::byte> bytes() { return {data_.get(), size_bytes_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), size_bytes_}; }

  /// The bytes as whole elements of T; a remainder is ignored.
  template <typename T>
  [[nodiscard]] std::span<T> as() {
    return {reinterpret_cast<T*>(data_.get()), size_bytes_ / sizeof(T)};
  }
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.get()), size_bytes_ / sizeof(T)};
  }

 private:
  struct Free {
    Free() : alignment(std::align_val_t{kAlignment}) {}
    explicit Free(std::align_val_t a) : alignment(a) {}
    std::align_val_t alignment;
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_bytes_ = 0;
};

}  // namespace halftone
