// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/shape.h"

#include <algorithm>
#include <optional>

#include "halftone/base/error.h"

namespace halftone::ir {
namespace {

/// Larger products are rejected before anything is allocated.
constexpr std::size_t kMaxElements = std::size_t{1} << 40;

/// The element count as (product of the known extents) x N^(batch dims).
struct SymbolicCount {
  std::size_t known = 1;
  std::size_t batch_dims = 0;
  bool operator==(const SymbolicCount&) const = default;
};

SymbolicCount symbolic_count(const Shape& shape) {
  SymbolicCount count;
  // Zeros do not count in the bound: the other extents alone must not overflow elsewhere.
  std::size_t bounded = 1;
  for (const Dim dim : shape.dims()) {
    if (dim == kBatch) {
      ++count.batch_dims;
      continue;
    }
    if (dim < 0 || (dim != 0 && bounded > kMaxElements / static_cast<std::size_t>(dim))) {
      fail(ErrorKind::kShape, "shape " + shape.to_string() + ": expected at most 2^40 elements");
    }
    count.known *= static_cast<std::size_t>(dim);
    if (dim != 0) bounded *= static_cast<std::size_t>(dim);
  }
  return count;
}

}  // namespace

bool Shape::is_static() const {
  return std::find(dims_.begin(), dims_.end(), kBatch) == dims_.end();
}

Shape Shape::with_batch(std::size_t batch) const {
  if (batch > kMaxElements) {
    fail(ErrorKind::kShape, "batch: expected at most 2^40 samples, found " + std::to_string(batch));
  }
  Shape result = *this;
  std::replace(result.dims_.begin(), result.dims_.end(), kBatch, static_cast<Dim>(batch));
  return result;
}

std::size_t Shape::element_count() const {
  const SymbolicCount count = symbolic_count(*this);
  if (count.batch_dims != 0) {
    fail(ErrorKind::kShape, "shape " + to_string() + ": expected known extents, found the batch");
  }
  return count.known;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + (dims_[i] == kBatch ? "N" : std::to_string(dims_[i]));
  }
  return text + "]";
}

MatrixExtent matrix_extent(const Shape& shape) {
  const std::size_t count = shape.element_count();
  if (shape.rank() == 0) return {};
  const auto rows = static_cast<std::size_t>(shape[0]);
  std::size_t cols = 1;
  if (rows != 0) {
    cols = count / rows;
  } else {
    for (std::size_t i = 1; i < shape.rank(); ++i) cols *= static_cast<std::size_t>(shape[i]);
  }
  return {rows, cols};
}

std::size_t normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    fail(ErrorKind::kShape, "axis: expected a value from " + std::to_string(-signed_rank) + " to " +
                                std::to_string(signed_rank - 1) + ", found " +
                                std::to_string(axis));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Shape broadcast(const Shape& lhs, const Shape& rhs) {
  const std::size_t rank = std::max(lhs.rank(), rhs.rank());
  std::vector<Dim> dims(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim l = i + lhs.rank() < rank ? 1 : lhs[i + lhs.rank() - rank];
    const Dim r = i + rhs.rank() < rank ? 1 : rhs[i + rhs.rank() - rank];
    if (l != r && l != 1 && r != 1) {
      fail(ErrorKind::kShape,
           "shapes " + lhs.to_string() + " and " + rhs.to_string() + " do not broadcast");
    }
    dims[i] = l == 1 ? r : l;
  }
  return Shape(std::move(dims));
}

bool same_element_count(const Shape& lhs, const Shape& rhs) {
  return symbolic_count(lhs) == symbolic_count(rhs);
}

Shape resolve_reshape(const Shape& input, std::span<const std::int64_t> request, bool zero_copies) {
  const auto mismatch = [&] {
    fail(ErrorKind::kShape,
         "cannot reshape " + input.to_string() + " to " +
             Shape(std::vector<Dim>(request.begin(), request.end())).to_string());
  };
  std::vector<Dim> dims(request.begin(), request.end());
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && zero_copies) {
      if (i >= input.rank()) mismatch();
      dims[i] = input[i];
    } else if (dims[i] == -1) {
      if (open) mismatch();
      open = i;
      dims[i] = 1;
    } else if (dims[i] < 0) {
      mismatch();
    }
  }
  Shape result(std::move(dims));
  const SymbolicCount have = symbolic_count(input);
  const SymbolicCount want = symbolic_count(result);
  if (open && want.known == 0) mismatch();  // ambiguous: any extent would fit
  if (have == want) return result;
  if (!open || want.batch_dims > have.batch_dims || have.known % want.known != 0) mismatch();
  const std::size_t rest = have.known / want.known;
  const std::size_t batch_dims = have.batch_dims - want.batch_dims;
  // One extent can represent N or a number, but not a product with N.
  if (batch_dims > 1 || (batch_dims == 1 && rest != 1)) mismatch();
  result[*open] = batch_dims == 1 ? kBatch : static_cast<Dim>(rest);
  return result;
}

}  // namespace halftone::ir
