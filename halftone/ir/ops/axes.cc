// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/axes.h"

#include <algorithm>
#include <numeric>

#include "halftone/ir/ops/traits.h"

namespace halftone::ir {
namespace {

using Axes = std::vector<std::size_t>;

/// The axes that the attributes of an operator name. All operators share these names: `axis` and
/// `axes` are axes of input 0; a sequence runs along `time_axis`.
template <typename Op>
Axes named_axes(const Op& op) {
  if constexpr (requires { op.axis; }) return {op.axis};
  if constexpr (requires { op.axes; }) return op.axes;
  if constexpr (requires { op.time_axis; }) return {op.time_axis};
  return {};
}

/// The axes from `first` up to `end`.
Axes axes_between(std::size_t first, std::size_t end) {
  Axes axes(std::max(end, first) - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

template <typename Condition>
Axes axes_where(std::size_t rank, Condition holds) {
  Axes axes = axes_between(0, rank);
  std::erase_if(axes, [&](std::size_t axis) { return !holds(axis); });
  return axes;
}

// mixed_axes() of one operator. Those without an overload work along the axes that they name.

template <typename Op>
Axes mixed(const Op& op, std::size_t /*rank*/) {
  return named_axes(op);
}
Axes mixed(const FullyConnected& /*op*/, std::size_t rank) { return {rank - 1}; }
Axes mixed(const MatMul& op, std::size_t rank) {
  return {rank - (op.transpose_a && rank > 1 ? 2 : 1)};
}
Axes mixed(const Conv& /*op*/, std::size_t rank) { return axes_between(1, rank); }
Axes mixed(const ConvTranspose& /*op*/, std::size_t rank) { return axes_between(1, rank); }
Axes mixed(const Pool& /*op*/, std::size_t rank) { return axes_between(1, rank - 1); }
Axes mixed(const GridSample& /*op*/, std::size_t rank) { return axes_between(1, rank - 1); }
Axes mixed(const MaxPoolIndex& /*op*/, std::size_t rank) { return axes_between(1, rank - 1); }
// Results list what is found in all samples.
Axes mixed(const NonZero& /*op*/, std::size_t rank) { return axes_between(0, rank); }
Axes mixed(const NonMaxSuppression& /*op*/, std::size_t rank) { return axes_between(0, rank); }
Axes mixed(const Unique& /*op*/, std::size_t rank) { return axes_between(0, rank); }
Axes mixed(const RoiAlign& /*op*/, std::size_t rank) { return axes_between(0, rank - 1); }
Axes mixed(const MaxRoiPool& /*op*/, std::size_t rank) { return axes_between(0, rank - 1); }
Axes mixed(const Determinant& /*op*/, std::size_t rank) { return axes_between(rank - 2, rank); }
/// Its axis is a new one of the output.
Axes mixed(const OneHot& /*op*/, std::size_t /*rank*/) { return {}; }
Axes mixed(const Tile& op, std::size_t rank) {
  return axes_where(rank, [&](std::size_t axis) { return op.repeats[axis] != 1; });
}
Axes mixed(const Pad& op, std::size_t rank) {
  return axes_where(rank,
                    [&](std::size_t axis) { return op.before[axis] != 0 || op.after[axis] != 0; });
}
Axes mixed(const Recurrent& op, std::size_t /*rank*/) { return {1 - batch_axis(op), 2}; }
/// Tokens of one run see each other through the states, but only through these.
Axes mixed(const AppendRows& /*op*/, std::size_t /*rank*/) { return {0, 1}; }
Axes mixed(const Attention& /*op*/, std::size_t rank) { return axes_between(1, rank); }
Axes mixed(const FakeQuantize& op, std::size_t rank) {
  if (op.blocks.granularity == numerics::Granularity::kTensor) return axes_between(1, rank);
  return {rank - 1};
}
Axes mixed(const Rotary& /*op*/, std::size_t rank) { return {rank - 1}; }
Axes mixed(const ExpertProduct& /*op*/, std::size_t rank) { return {rank - 1}; }
/// Rows of one run see each other through the states.
Axes mixed_by_recurrence(RecurrenceForm form, std::size_t rank) {
  return axes_between(form == RecurrenceForm::kSamples ? 1 : 0, rank);
}
Axes mixed(const ShortConvolution& op, std::size_t rank) {
  return mixed_by_recurrence(op.form, rank);
}
Axes mixed(const SelectiveScan& op, std::size_t rank) { return mixed_by_recurrence(op.form, rank); }
Axes mixed(const GatedDelta& op, std::size_t rank) { return mixed_by_recurrence(op.form, rank); }

/// Whether an operator works along the axes that it names, and on no others in their order: the
/// blocks of a FakeQuantize are rows along the last axis, or what belongs to an index of the first.
template <typename Op>
bool passes(const Op& /*op*/, const Axes& /*permutation*/) {
  return true;
}
bool passes(const FakeQuantize& op, const Axes& permutation) {
  const std::size_t last = permutation.size() - 1;
  return op.blocks.granularity == numerics::Granularity::kTensor ? permutation.front() == 0
                                                                 : permutation.back() == last;
}

/// The permutation of the remaining axes.
/// @param removed  axes after the transpose
Axes without(const Axes& permutation, const Axes& removed) {
  Axes left;
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    if (std::ranges::count(removed, i) == 0) left.push_back(permutation[i]);
  }
  Axes ranks = left;
  std::ranges::sort(ranks);
  for (std::size_t& axis : left) {
    axis = static_cast<std::size_t>(std::ranges::lower_bound(ranks, axis) - ranks.begin());
  }
  return left;
}

/// Changes the attributes of an operator after a transpose to those of the one before it.
class Renumbering {
 public:
  explicit Renumbering(const Axes& permutation) : permutation_(permutation) {}

  template <typename Op>
  void apply(Op& op) const {
    if constexpr (requires { op.axis; }) name(op.axis);
    if constexpr (requires { op.axes; }) name(op.axes);
    if constexpr (requires { op.parameters; }) name(op.parameters);
    if constexpr (requires { op.repeats; }) reorder(op.repeats);
    if constexpr (requires { op.before; }) reorder(op.before);
    if constexpr (requires { op.after; }) reorder(op.after);
  }

 private:
  void name(std::size_t& axis) const { axis = permutation_[axis]; }
  void name(Axes& axes) const {
    for (std::size_t& axis : axes) name(axis);
    std::ranges::sort(axes);
  }
  void name(AffineParameters& parameters) const {
    if (parameters.scales.size() > 1) name(parameters.axis);
  }
  /// A list of one number per axis.
  void reorder(Axes& numbers) const {
    const Axes old = numbers;
    for (std::size_t i = 0; i < old.size(); ++i) numbers[permutation_[i]] = old[i];
  }
  /// A number that belongs to no axis.
  void reorder(std::size_t& /*number*/) const {}

  const Axes& permutation_;
};

}  // namespace

std::vector<std::size_t> mixed_axes(const Operator& op, std::size_t rank) {
  return std::visit([rank](const auto& held) { return mixed(held, rank); }, op);
}

std::optional<BeforeTranspose> before_transpose(const Operator& op,
                                                const std::vector<std::size_t>& permutation) {
  const AxisMap map = traits_of(op).axes;
  const bool may_pass = std::visit([&](const auto& held) { return passes(held, permutation); }, op);
  if (map == AxisMap::kOther || !may_pass) return std::nullopt;
  const Axes removed = map == AxisMap::kReduced
                           ? std::visit([](const auto& held) { return named_axes(held); }, op)
                           : Axes{};
  Operator moved = op;
  std::visit([&](auto& held) { Renumbering(permutation).apply(held); }, moved);
  return BeforeTranspose{std::move(moved), without(permutation, removed)};
}

}  // namespace halftone::ir
