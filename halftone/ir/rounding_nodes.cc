// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/rounding_nodes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/step_function.h"
#include "halftone/numerics/levels.h"
#include "halftone/numerics/systems.h"

namespace halftone::ir {
namespace {

using numerics::NumberType;
using numerics::ScaleRule;

constexpr Activation kAbs{ActivationKind::kAbs, 0, 0};

/// Levels in ascending order, and what is beyond them.
struct SortedLevels {
  std::span<const float> thresholds;
  std::span<const float> levels;
  const std::optional<numerics::Beyond>& beyond;
};

ValueId add_rounding(Nodes& nodes, ValueId x, const SortedLevels& levels) {
  StepFunction function{{levels.thresholds.begin(), levels.thresholds.end()},
                        {levels.levels.begin(), levels.levels.end()}};
  if (!levels.beyond) return add_steps(nodes, x, function);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  function.thresholds.insert(function.thresholds.begin(), levels.beyond->low);
  function.values.insert(function.values.begin(), -kInfinity);
  function.thresholds.push_back(levels.beyond->high);
  function.values.push_back(kInfinity);
  const ValueId level = add_steps(nodes, x, function);
  if (!std::isnan(levels.beyond->at_high.value)) return level;
  // Constants are no NaN, but infinity times zero is.
  const ValueId zero = nodes.binary("nan", BinaryKind::kMul, level, nodes.number("zero", 0));
  return nodes.binary("with_nan", BinaryKind::kAdd, level, zero);
}

/// The numbers of E4M3 above zero; smaller ones become the smallest.
StepFunction positive_e4m3() {
  const auto codebook = numerics::codebook_of(numerics::find_system("e4m3"), 8);
  const std::span<const float> sorted = codebook->sorted();
  const auto first =
      static_cast<std::size_t>(std::ranges::upper_bound(sorted, 0.0F) - sorted.begin());
  const auto thresholds = codebook->thresholds().subspan(first);
  const auto values = sorted.subspan(first);
  return {{thresholds.begin(), thresholds.end()}, {values.begin(), values.end()}};
}

/// 2^(floor(log2 m) - floor(log2 L)) of m >= 0, as e8m0 stores it.
StepFunction powers_of_two(double largest_level) {
  constexpr int kFirst = std::numeric_limits<float>::min_exponent - 1;
  constexpr int kLast = std::numeric_limits<float>::max_exponent - 1;
  const int shift = std::ilogb(largest_level);
  StepFunction function{{}, {numerics::least_scale(NumberType::kE8m0)}};
  function.thresholds.push_back(0);
  // Subnormal numbers count as the smallest normal one.
  for (int e = kFirst; e <= kLast; ++e) {
    if (e > kFirst) function.thresholds.push_back(std::nextafter(std::ldexp(1.0F, e), 0.0F));
    function.values.push_back(numerics::round_to(NumberType::kE8m0, std::ldexp(1.0, e - shift)));
  }
  return function;
}

/// A part of a tensor whose blocks lie along some axes.
struct RoundedPart {
  ValueId x;
  std::vector<std::size_t> axes;
  ValueId scale = kAbsent;  ///< absent: 1
  ValueId offset = kAbsent;
};

/// The scales of a FakeQuantize, and numbers rounded with them.
class ScaledRounding {
 public:
  ScaledRounding(Nodes& nodes, const FakeQuantize& op)
      : nodes_(nodes),
        system_(*op.system),
        codebook_(numerics::codebook_of(*op.system, op.bits)),
        storage_(numerics::scale_storage(*op.system, op.blocks.granularity)) {}

  /// @param parts  of one tensor; their scales may share a factor
  void find_scales(std::vector<RoundedPart>& parts) {
    if (system_.rule == ScaleRule::kUnit) return;
    for (RoundedPart& part : parts) find_scale(part);
    if (storage_.factor) share_factor(parts);
  }

  ValueId rounded(const RoundedPart& part) {
    const SortedLevels levels{codebook_->thresholds(), codebook_->sorted(), codebook_->beyond()};
    if (part.scale == kAbsent) return add_rounding(nodes_, part.x, levels);
    ValueId x = part.x;
    const bool has_offset = part.offset != kAbsent;
    if (has_offset) x = nodes_.binary("centred", BinaryKind::kSub, x, part.offset);
    x = nodes_.binary("scaled", BinaryKind::kDiv, x, part.scale);
    const ValueId level = add_rounding(nodes_, x, levels);
    const ValueId y = nodes_.binary("value", BinaryKind::kMul, level, part.scale);
    return has_offset ? nodes_.binary("shifted", BinaryKind::kAdd, y, part.offset) : y;
  }

 private:
  [[nodiscard]] double largest_level() const {
    if (system_.largest != 0) return system_.largest;
    const double last = codebook_->sorted().back();
    return last > 0 ? last : std::abs(double{codebook_->sorted().front()});
  }

  ValueId reduced(const std::string& what, ReduceKind kind, ValueId x, const RoundedPart& part) {
    return nodes_.add(what, Reduce{kind, part.axes, true}, {x});
  }

  void find_scale(RoundedPart& part) {
    if (system_.rule == ScaleRule::kRange) return find_range(part);
    const ValueId sizes = nodes_.add("sizes", Unary{kAbs}, {part.x});
    const ValueId size = reduced("size", ReduceKind::kMax, sizes, part);
    if (system_.rule == ScaleRule::kPowerOfTwo) {
      part.scale = add_steps(nodes_, size, powers_of_two(largest_level()));
      return;
    }
    const ValueId largest = nodes_.number("largest", static_cast<float>(largest_level()));
    part.scale = nodes_.binary("scale", BinaryKind::kDiv, size, largest);
    if (!storage_.factor) part.scale = stored(part.scale);
  }

  void find_range(RoundedPart& part) {
    const ValueId high = reduced("high", ReduceKind::kMax, part.x, part);
    part.offset = reduced("low", ReduceKind::kMin, part.x, part);
    const ValueId range = nodes_.binary("range", BinaryKind::kSub, high, part.offset);
    const double levels = double{codebook_->sorted().back()} - double{codebook_->sorted().front()};
    const ValueId count = nodes_.number("steps", static_cast<float>(levels));
    part.scale = stored(nodes_.binary("scale", BinaryKind::kDiv, range, count));
    if (storage_.type != NumberType::kFloat32) part.offset = rounded_to_type(part.offset);
  }

  /// The nearest number of a type of 16 bits, ties either way: x (2^s + 1) has a sum whose rounding
  /// leaves 24 - s significant bits of x.
  /// Source: Dekker, A Floating-Point Technique for Extending the Available Precision, 1971,
  /// section 4 (Veltkamp's splitting).
  ValueId rounded_to_type(ValueId x) {
    const bool is_half = storage_.type == NumberType::kFloat16;
    const float largest = numerics::largest(storage_.type);
    x = nodes_.binary("below_most", BinaryKind::kMin, x, nodes_.number("most", largest));
    x = nodes_.binary("above_least", BinaryKind::kMax, x, nodes_.number("least", -largest));
    const ValueId factor = nodes_.number("splitter", is_half ? 0x1p13F + 1 : 0x1p16F + 1);
    const ValueId product = nodes_.binary("product", BinaryKind::kMul, x, factor);
    const ValueId low = nodes_.binary("low_bits", BinaryKind::kSub, product, x);
    const ValueId normal = nodes_.binary("high_bits", BinaryKind::kSub, product, low);
    if (!is_half) return normal;
    // Below 2^-14 numbers are multiples of 2^-24, as float32 has between 1/2 and 1.
    const ValueId half = nodes_.number("half", 0.5F);
    const ValueId sum = nodes_.binary("sum", BinaryKind::kAdd, x, half);
    const ValueId tiny = nodes_.binary("tiny", BinaryKind::kSub, sum, half);
    const ValueId size = nodes_.add("size_of", Unary{kAbs}, {x});
    const ValueId is_normal = nodes_.binary("is_normal", BinaryKind::kGreater, size,
                                            nodes_.number("smallest_normal", 0x1p-14F));
    return nodes_.add("stored", Where{}, {is_normal, normal, tiny});
  }

  /// A scale as it is stored: not zero.
  ValueId stored(ValueId scale) {
    if (storage_.type != NumberType::kFloat32) scale = rounded_to_type(scale);
    const ValueId zero = nodes_.number("zero_scale", 0);
    const ValueId is_positive = nodes_.binary("is_positive", BinaryKind::kGreater, scale, zero);
    const ValueId least = nodes_.number("least_scale", numerics::least_scale(storage_.type));
    return nodes_.add("nonzero", Where{}, {is_positive, scale, least});
  }

  /// Scales are E4M3 times a factor, which gives the largest of them the largest number.
  void share_factor(std::vector<RoundedPart>& parts) {
    const ValueId zero = nodes_.number("zero_factor", 0);
    ValueId most = zero;
    for (const RoundedPart& part : parts) {
      std::vector<std::size_t> axes(nodes_.shape(part.scale).rank() - 1);
      std::iota(axes.begin(), axes.end(), std::size_t{1});
      const Reduce largest{ReduceKind::kMax, axes, false};
      most = nodes_.binary("larger", BinaryKind::kMax, most,
                           nodes_.add("largest_scale", largest, {part.scale}));
    }
    const ValueId last = nodes_.number("last", numerics::largest(storage_.type));
    const ValueId quotient = nodes_.binary("factor", BinaryKind::kDiv, most, last);
    const ValueId least = nodes_.number("least_factor", std::numeric_limits<float>::min());
    const ValueId some = nodes_.binary("some_factor", BinaryKind::kMax, quotient, least);
    const ValueId has_scale = nodes_.binary("has_scale", BinaryKind::kGreater, most, zero);
    const ValueId factor =
        nodes_.add("factor_or_one", Where{}, {has_scale, some, nodes_.number("one", 1)});
    for (RoundedPart& part : parts) {
      Shape shape(std::vector<Dim>(nodes_.shape(part.scale).rank(), 1));
      shape[0] = nodes_.shape(factor)[0];
      const ValueId own = nodes_.add("own_factor", Reshape{shape}, {factor});
      const ValueId ratio = nodes_.binary("ratio", BinaryKind::kDiv, part.scale, own);
      const ValueId code = add_steps(nodes_, ratio, positive_e4m3());
      part.scale = nodes_.binary("shared", BinaryKind::kMul, code, own);
    }
  }

  Nodes& nodes_;
  const numerics::NumberSystem& system_;
  std::shared_ptr<const numerics::Codebook> codebook_;
  numerics::ScaleStorage storage_;
};

/// The parts of a tensor [samples, ..., n] with groups of neighbours: whole groups, and the rest.
std::vector<RoundedPart> parts_of_groups(Nodes& nodes, ValueId x, std::size_t group) {
  const Shape shape = nodes.shape(x);
  const std::size_t last = shape.rank() - 1;
  const auto n = static_cast<std::size_t>(shape.back());
  const std::size_t whole = n / group * group;
  std::vector<RoundedPart> parts;
  if (whole > 0) {
    const ValueId all = whole == n ? x : nodes.add("whole", Slice{last, 0, 1, whole}, {x});
    std::vector<Dim> dims(shape.dims().begin(), shape.dims().end() - 1);
    dims.push_back(static_cast<Dim>(whole / group));
    dims.push_back(static_cast<Dim>(group));
    parts.push_back({nodes.add("groups", Reshape{Shape(dims)}, {all}), {last + 1}});
  }
  if (whole < n) {
    parts.push_back({nodes.add("rest", Slice{last, whole, 1, n - whole}, {x}), {last}});
  }
  return parts;
}

/// Rounded parts as one tensor [samples, ..., n].
ValueId joined_parts(Nodes& nodes, const std::vector<ValueId>& parts, const Shape& shape) {
  std::vector<ValueId> rows;
  for (const ValueId part : parts) {
    std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
    dims.back() = nodes.shape(part).back();
    if (nodes.shape(part).rank() > shape.rank()) dims.back() *= nodes.shape(part)[shape.rank() - 1];
    const bool fits = nodes.shape(part).rank() == shape.rank();
    rows.push_back(fits ? part : nodes.add("rows", Reshape{Shape(dims)}, {part}));
  }
  return rows.size() == 1 ? rows[0] : nodes.add("joined", Concat{shape.rank() - 1}, rows);
}

std::vector<RoundedPart> parts_of(Nodes& nodes, ValueId x, const numerics::BlockShape& blocks) {
  const std::size_t rank = nodes.shape(x).rank();
  switch (blocks.granularity) {
    case numerics::Granularity::kTensor: {
      std::vector<std::size_t> axes(rank - 1);
      std::iota(axes.begin(), axes.end(), std::size_t{1});
      return {{x, axes}};
    }
    case numerics::Granularity::kChannel:
      return {{x, {rank - 1}}};
    case numerics::Granularity::kGroup:
      break;
  }
  return parts_of_groups(nodes, x, blocks.group_size);
}

}  // namespace

ValueId add_step_function(Graph& graph, const std::string& name, ValueId x,
                          std::span<const float> thresholds, std::span<const float> values) {
  HALFTONE_ASSERT(values.size() == thresholds.size() + 1);
  Nodes nodes(graph, name);
  return add_search(nodes, x,
                    {{thresholds.begin(), thresholds.end()}, {values.begin(), values.end()}});
}

ValueId add_encode(Graph& graph, const std::string& name, const Encode& op, ValueId x) {
  Nodes nodes(graph, name);
  if (op.activation.kind != ActivationKind::kIdentity) {
    x = nodes.add("activation", Unary{op.activation}, {x});
  }
  const numerics::LevelTable table(op.encoding->levels(0));
  return add_rounding(nodes, x, {table.thresholds(), table.levels(), table.beyond()});
}

bool has_fake_quantize_nodes(const FakeQuantize& op) {
  const numerics::ScaleStorage storage = numerics::scale_storage(*op.system, op.blocks.granularity);
  return !storage.factor || (storage.share == 0 && storage.type == NumberType::kE4m3);
}

ValueId add_fake_quantize(Graph& graph, const std::string& name, const FakeQuantize& op,
                          ValueId x) {
  Nodes nodes(graph, name);
  const Shape shape = nodes.shape(x);
  // A tensor of one axis is one row of one sample.
  if (shape.rank() == 1) x = nodes.add("row", Reshape{Shape{1, shape[0]}}, {x});
  const Shape rows = nodes.shape(x);
  std::vector<RoundedPart> parts = parts_of(nodes, x, op.blocks);
  ScaledRounding rounding(nodes, op);
  rounding.find_scales(parts);
  std::vector<ValueId> rounded;
  for (const RoundedPart& part : parts) rounded.push_back(rounding.rounded(part));
  const ValueId y = joined_parts(nodes, rounded, rows);
  return shape.rank() == 1 ? nodes.add("flat", Reshape{shape}, {y}) : y;
}

}  // namespace halftone::ir
