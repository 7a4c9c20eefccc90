// SPDX-License-Identifier: Apache-2.0
// A non-owning matrix; passed by value. Method names follow std::mdspan.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "halftone/base/error.h"

namespace halftone {

/// A matrix of `rows` x `cols` elements that it does not own; row r starts at
/// data + r * stride. `T` carries constness; MatrixView<T> converts to MatrixView<const T>.
template <typename T>
class MatrixView {
 public:
  constexpr MatrixView() = default;
  /// Contiguous rows. @pre data.size() == rows * cols
  constexpr MatrixView(std::span<T> data, std::size_t rows, std::size_t cols)
      : MatrixView(data.data(), rows, cols, cols) {
    HALFTONE_ASSERT(data.size() == rows * cols);
  }
  /// Rows `stride` elements apart. @pre stride >= cols
  constexpr MatrixView(T* data, std::size_t rows, std::size_t cols, std::size_t stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {}
  // NOLINTNEXTLINE(google-explicit-constructor): adding const is always right.
  constexpr operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data_, rows_, cols_, stride_};
  }

  [[nodiscard]] constexpr T* data_handle() const { return data_; }
  [[nodiscard]] constexpr std::size_t rows() const { return rows_; }
  [[nodiscard]] constexpr std::size_t cols() const { return cols_; }
  [[nodiscard]] constexpr std::size_t stride() const { return stride_; }
  [[nodiscard]] constexpr std::size_t size() const { return rows_ * cols_; }
  [[nodiscard]] constexpr std::span<T> row(std::size_t r) const {
    HALFTONE_ASSERT(r < rows_);
    return {data_ + r * stride_, cols_};
  }
  [[nodiscard]] constexpr T& operator()(std::size_t r, std::size_t c) const {
    HALFTONE_ASSERT(r < rows_ && c < cols_);
    return data_[r * stride_ + c];
  }
  /// Rows [begin, begin + count).
  [[nodiscard]] constexpr MatrixView rows_from(std::size_t begin, std::size_t count) const {
    HALFTONE_ASSERT(begin + count <= rows_);
    return {data_ + begin * stride_, count, cols_, stride_};
  }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t stride_ = 0;
};

}  // namespace halftone
