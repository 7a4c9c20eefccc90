// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/shape.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/ir/extent.h"

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
    if (is_open(dim)) ++count.batch_dims;
    // Also right for the lowest number, which has no negative.
    const std::size_t extent = is_open(dim) ? std::size_t{0} - static_cast<std::size_t>(dim)
                                            : static_cast<std::size_t>(dim);
    if (extent != 0 && bounded > kMaxElements / extent) {
      fail(ErrorKind::kShape, "shape " + shape.to_string() + ": expected at most 2^40 elements");
    }
    count.known *= extent;
    if (extent != 0) bounded *= extent;
  }
  return count;
}

/// The same where extents are expressions.
Extent open_count(const Shape& shape) {
  Extent count(1);
  for (const Dim dim : shape.dims()) count = count * extent_of(dim);
  return count;
}

/// above / below.
struct Fraction {
  Extent above;
  std::int64_t below = 1;
};

/// An extent with quotients by numbers as they are, not rounded down; nothing for other functions.
std::optional<Fraction> unrounded(const Extent& extent) {
  constexpr std::int64_t kMaxBelow = 1 << 20;
  Fraction sum;
  for (const auto& [text, term] : extent.terms()) {
    Fraction product{term.factor};
    for (const auto& atom : term.atoms) {
      const bool is_symbol = atom->kind == Extent::AtomKind::kSymbol;
      if (!is_symbol && (atom->kind != Extent::AtomKind::kQuotient || !atom->b.is_number())) {
        return std::nullopt;
      }
      product.above = product.above * (is_symbol ? Extent::symbol(atom->text) : atom->a);
      product.below *= is_symbol ? 1 : std::min(*atom->b.number(), kMaxBelow + 1);
      if (product.below > kMaxBelow) return std::nullopt;
    }
    const std::int64_t below = std::lcm(sum.below, product.below);
    if (below > kMaxBelow) return std::nullopt;
    sum.above = sum.above * (below / sum.below) + product.above * (below / product.below);
    sum.below = below;
  }
  return sum;
}

/// What a quotient of counts is where none of their extents was rounded down. At other sizes it is
/// no quotient, which shows when the symbols have numbers.
std::optional<Extent> whole_quotient(const Extent& have, const Extent& want) {
  constexpr std::size_t kMaxProducts = 64;
  if (have.over(want) * want == have) return std::nullopt;
  const auto a = unrounded(have);
  const auto b = unrounded(want);
  if (!a || !b || a->above.terms().size() * b->above.terms().size() > kMaxProducts) {
    return std::nullopt;
  }
  const Extent above = a->above * b->below;
  const Extent below = b->above * a->below;
  const Extent quotient = above.over(below);
  return quotient * below == above ? std::optional(quotient) : std::nullopt;
}

/// Resolves a request with expressions in it or in the input. What has to be divided is taken to be
/// a multiple; numbers for the symbols show whether it is.
/// @param result  with 1 for the extent that takes the rest
Shape resolve_expressions(const Shape& input, Shape result, std::optional<std::size_t> open) {
  const Extent have = open_count(input);
  const Extent want = open_count(result);
  if (!open) return result;
  if (want == Extent(0)) fail(ErrorKind::kShape, "cannot reshape " + input.to_string() + " by 0");
  const auto whole = whole_quotient(have, want);
  result[*open] = dim_of(whole ? *whole : have.over(want));
  return result;
}

}  // namespace

bool Shape::is_static() const { return std::ranges::none_of(dims_, is_open); }

Shape Shape::with_batch(std::size_t batch) const {
  if (batch > kMaxElements) {
    fail(ErrorKind::kShape, "batch: expected at most 2^40 samples, found " + std::to_string(batch));
  }
  Shape result = *this;
  for (Dim& dim : result.dims_) {
    if (is_expression(dim)) {
      dim = dim_of(extent_of(dim).with({{kBatchSymbol, static_cast<Dim>(batch)}}));
      continue;
    }
    if (!is_open(dim)) continue;
    const std::size_t multiple = std::size_t{0} - static_cast<std::size_t>(dim);
    if (batch > kMaxElements / multiple) {
      fail(ErrorKind::kShape, "shape " + to_string() + ": expected at most 2^40 elements, found " +
                                  std::to_string(batch) + " samples");
    }
    dim = static_cast<Dim>(batch * multiple);
  }
  return result;
}

std::size_t Shape::element_count() const {
  if (has_expressions(*this)) {
    fail(ErrorKind::kShape, "shape " + to_string() + ": expected known extents, found an open one");
  }
  const SymbolicCount count = symbolic_count(*this);
  if (count.batch_dims != 0) {
    fail(ErrorKind::kShape, "shape " + to_string() + ": expected known extents, found the batch");
  }
  return count.known;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + halftone::ir::to_string(dims_[i]);
  }
  return text + "]";
}

std::string to_string(Dim extent) {
  if (!is_open(extent)) return std::to_string(extent);
  if (extent == kRemaining) return "?";
  if (is_expression(extent)) return extent_of(extent).text();
  return (extent == kBatch ? "" : std::to_string(-extent)) + "N";
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
    if (l != 1 && r != 1 && !may_be_equal(l, r)) {
      fail(ErrorKind::kShape,
           "shapes " + lhs.to_string() + " and " + rhs.to_string() + " do not broadcast");
    }
    dims[i] = l == 1 ? r : r == 1 ? l : better_known(l, r);
  }
  return Shape(std::move(dims));
}

bool same_element_count(const Shape& lhs, const Shape& rhs) {
  if (has_expressions(lhs) || has_expressions(rhs)) {
    const Extent difference = open_count(lhs) - open_count(rhs);
    return difference == Extent(0) || !difference.is_number();
  }
  return symbolic_count(lhs) == symbolic_count(rhs);
}

Shape resolve_extents(const Shape& input, std::vector<Dim> request, bool zero_copies) {
  const auto mismatch = [&, requested = Shape(request)] {
    fail(ErrorKind::kShape, "cannot reshape " + input.to_string() + " to " + requested.to_string());
  };
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (request[i] == 0 && zero_copies) {
      if (i >= input.rank()) mismatch();
      request[i] = input[i];
    } else if (request[i] == kRemaining) {
      if (open) mismatch();
      open = i;
      request[i] = 1;
    }
  }
  Shape result(std::move(request));
  if (has_expressions(input) || has_expressions(result)) {
    if (!same_element_count(input, result) && !open) mismatch();
    return resolve_expressions(input, std::move(result), open);
  }
  const SymbolicCount have = symbolic_count(input);
  const SymbolicCount want = symbolic_count(result);
  if (open && want.known == 0) mismatch();  // ambiguous: any extent would fit
  if (have == want) return result;
  if (!open || want.batch_dims > have.batch_dims || have.known % want.known != 0) mismatch();
  const auto rest = static_cast<Dim>(have.known / want.known);
  const std::size_t batch_dims = have.batch_dims - want.batch_dims;
  // One extent can represent a multiple of N, but not of its square; nor 0 N, which is 0.
  if (batch_dims > 1) mismatch();
  result[*open] = batch_dims == 1 ? -rest : rest;
  return result;
}

Shape resolve_reshape(const Shape& input, std::span<const std::int64_t> request, bool zero_copies) {
  std::vector<Dim> dims(request.begin(), request.end());
  for (Dim& dim : dims) {
    if (dim < -1) {
      fail(ErrorKind::kShape, "cannot reshape " + input.to_string() +
                                  ": expected extents >= -1, "
                                  "found " +
                                  std::to_string(dim));
    }
    if (dim == -1) dim = kRemaining;
  }
  return resolve_extents(input, std::move(dims), zero_copies);
}

}  // namespace halftone::ir
