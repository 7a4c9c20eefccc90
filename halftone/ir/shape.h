// SPDX-License-Identifier: Apache-2.0
// Extents of tensors, with one symbol: the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace halftone::ir {

using Dim = std::int64_t;

/// The extent that is only known when a plan is made: how many samples run at once.
inline constexpr Dim kBatch = -1;

/// The extents of a tensor, outermost first; each is >= 0 or kBatch. A scalar has rank 0.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}

  [[nodiscard]] std::size_t rank() const { return dims_.size(); }
  [[nodiscard]] std::span<const Dim> dims() const { return dims_; }
  [[nodiscard]] Dim operator[](std::size_t axis) const { return dims_[axis]; }
  [[nodiscard]] Dim& operator[](std::size_t axis) { return dims_[axis]; }
  [[nodiscard]] Dim back() const { return dims_.back(); }

  /// False if any extent is kBatch.
  [[nodiscard]] bool is_static() const;
  /// The same with every kBatch replaced. @throws Error kShape if the batch exceeds 2^40
  [[nodiscard]] Shape with_batch(std::size_t batch) const;
  /// Product of the extents.
  /// @throws Error kShape if an extent is kBatch or negative, or the product of those that are not
  ///         zero exceeds 2^40
  [[nodiscard]] std::size_t element_count() const;
  /// "[N, 784]".
  [[nodiscard]] std::string to_string() const;

  bool operator==(const Shape&) const = default;

 private:
  std::vector<Dim> dims_;
};

/// A tensor seen as a matrix: the first extent by the product of the others; [1, 1] for a scalar.
struct MatrixExtent {
  std::size_t rows = 1;
  std::size_t cols = 1;
};
/// @throws Error kShape as Shape::element_count()
MatrixExtent matrix_extent(const Shape& shape);

/// The axis counted from the front: -1 is the last.
/// @throws Error kShape unless -rank <= axis < rank
std::size_t normalized_axis(std::int64_t axis, std::size_t rank);

/// The shape both operands broadcast to, by NumPy's rule; kBatch goes with kBatch and 1.
/// @throws Error kShape if they do not fit
Shape broadcast(const Shape& lhs, const Shape& rhs);

/// Whether both hold as many elements for every batch: the same number of batch axes and the same
/// product of the other extents.
/// @throws Error kShape if an extent is negative or the product exceeds the limit of
///         Shape::element_count()
bool same_element_count(const Shape& lhs, const Shape& rhs);

/// What a reshape request means for an input: -1 takes what is left, 0 copies the input's extent
/// if `zero_copies`. The batch symbol is carried over to wherever the counts put it.
/// @throws Error kShape if the counts do not fit or the request is ambiguous
Shape resolve_reshape(const Shape& input, std::span<const std::int64_t> request, bool zero_copies);

}  // namespace halftone::ir
