// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/before_transpose.h"

#include <algorithm>

namespace halftone::passes {
namespace {

using Permutation = std::vector<std::size_t>;

Permutation mapped(const Permutation& axes, const Permutation& p) {
  Permutation result;
  for (const std::size_t axis : axes) result.push_back(p[axis]);
  std::ranges::sort(result);
  return result;
}

/// Numbers of the axes behind the transpose, in the order of those before it.
std::vector<std::size_t> reordered(const std::vector<std::size_t>& numbers, const Permutation& p) {
  std::vector<std::size_t> result(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) result[p[i]] = numbers[i];
  return result;
}

/// The permutation of the axes that are left.
/// @param gone  axes behind the transpose
Permutation without(const Permutation& p, const Permutation& gone) {
  Permutation left;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (std::ranges::find(gone, i) == gone.end()) left.push_back(p[i]);
  }
  Permutation ranks = left;
  std::ranges::sort(ranks);
  for (std::size_t& axis : left) {
    axis = static_cast<std::size_t>(std::ranges::lower_bound(ranks, axis) - ranks.begin());
  }
  return left;
}

/// Changes an operator into the one before the transpose; one overload for each that can. Returns
/// false where there is none.
class Mapping {
 public:
  explicit Mapping(const Permutation& p) : p_(p), after_(p) {}

  [[nodiscard]] const Permutation& after() const { return after_; }

  bool operator()(ir::Unary& /*op*/) { return true; }
  bool operator()(ir::Binary& /*op*/) { return true; }
  bool operator()(ir::Cast& /*op*/) { return true; }
  bool operator()(ir::Lookup& /*op*/) { return true; }
  bool operator()(ir::Softmax& op) { return map(op.axis); }
  bool operator()(ir::Concat& op) { return map(op.axis); }
  bool operator()(ir::Slice& op) { return map(op.axis); }
  bool operator()(ir::CumSum& op) { return map(op.axis); }
  bool operator()(ir::TopK& op) { return map(op.axis); }
  bool operator()(ir::Resize& op) { return map(op.axis); }
  bool operator()(ir::LocalNormalize& op) { return map(op.axis); }
  bool operator()(ir::QuantizeLinear& op) { return map(op.parameters); }
  bool operator()(ir::DequantizeLinear& op) { return map(op.parameters); }
  bool operator()(ir::Normalize& op) {
    op.axes = mapped(op.axes, p_);
    return true;
  }
  bool operator()(ir::Tile& op) {
    op.repeats = reordered(op.repeats, p_);
    return true;
  }
  bool operator()(ir::Pad& op) {
    op.before = reordered(op.before, p_);
    op.after = reordered(op.after, p_);
    return true;
  }
  bool operator()(ir::Reduce& op) {
    if (!op.keep_dims) after_ = without(p_, op.axes);
    op.axes = mapped(op.axes, p_);
    return true;
  }
  bool operator()(ir::ArgReduce& op) {
    if (!op.keep_dims) after_ = without(p_, {op.axis});
    return map(op.axis);
  }
  template <typename Op>
  bool operator()(Op& /*op*/) {
    return false;
  }

 private:
  bool map(std::size_t& axis) {
    axis = p_[axis];
    return true;
  }
  bool map(ir::AffineParameters& parameters) {
    return parameters.scales.size() <= 1 || map(parameters.axis);
  }

  const Permutation& p_;
  Permutation after_;
};

}  // namespace

std::optional<BeforeTranspose> before_transpose(const ir::Operator& op,
                                                const std::vector<std::size_t>& permutation) {
  ir::Operator moved = op;
  Mapping mapping(permutation);
  const bool can = std::visit([&](auto& held) { return mapping(held); }, moved);
  if (!can) return std::nullopt;
  return BeforeTranspose{std::move(moved), mapping.after()};
}

}  // namespace halftone::passes
