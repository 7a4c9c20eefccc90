// SPDX-License-Identifier: Apache-2.0
// Extents of tensors, with one symbol: the batch N.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace halftone::ir {

using Dim = std::int64_t;

/// The batch N: an extent that stays symbolic until a plan fixes the number of samples per run.
/// -k is k N, as where the heads of every sample share an axis.
inline constexpr Dim kBatch = -1;
/// Whether an extent is no number: N, a multiple of it, or an expression (extent.h).
constexpr bool is_open(Dim extent) { return extent < 0; }
/// An extent of a requested shape that takes the remaining elements.
inline constexpr Dim kRemaining = std::numeric_limits<Dim>::min();

/// The extents of a tensor, outermost first: numbers >= 0, multiples of the batch or expressions. A
/// scalar has rank 0.
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

  /// Whether all extents are numbers.
  [[nodiscard]] bool is_static() const;
  /// The same shape for a number of samples. @throws Error kShape if an extent exceeds 2^40
  [[nodiscard]] Shape with_batch(std::size_t batch) const;
  /// Product of the extents.
  /// @throws Error kShape if an extent depends on the batch, or the product of those that are not
  ///         zero exceeds 2^40
  [[nodiscard]] std::size_t element_count() const;
  /// "[N, 8N, 784]".
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

/// Converts a possibly negative axis to one counted from the front; -1 is the last axis.
/// @throws Error kShape unless -rank <= axis < rank
std::size_t normalized_axis(std::int64_t axis, std::size_t rank);

/// "784", "N", "8N"; "?" for kRemaining.
std::string to_string(Dim extent);

/// The shape that both operands broadcast to by NumPy's rule; k N matches k N and 1.
/// @throws Error kShape if they do not fit
Shape broadcast(const Shape& lhs, const Shape& rhs);

/// Whether both shapes have the same number of elements for every batch: the same number of batch
/// axes and the same product of the other extents.
/// @throws Error kShape if the product exceeds the limit of Shape::element_count()
bool same_element_count(const Shape& lhs, const Shape& rhs);

/// Resolves the requested shape of a reshape: kRemaining takes the remaining elements, with the
/// batch if no other extent has it; 0 copies the extent of the input if `zero_copies`.
/// @throws Error kShape if the counts do not fit or the request is ambiguous
Shape resolve_extents(const Shape& input, std::vector<Dim> request, bool zero_copies);

/// The same for a request of numbers as files have it, where -1 takes the remaining elements.
Shape resolve_reshape(const Shape& input, std::span<const std::int64_t> request, bool zero_copies);

}  // namespace halftone::ir
