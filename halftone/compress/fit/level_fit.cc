// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/level_fit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/numerics/basis.h"
#include "halftone/numerics/systems.h"

namespace halftone::compress {
namespace {

using numerics::Basis;
using numerics::Levels;
using numerics::LevelTable;

/// The values in ascending order with running sums, so that the contribution of a level's cell to
/// the least-squares problem is a difference of two sums.
class SortedSample {
 public:
  SortedSample(std::span<const float> x, std::span<const float> targets,
               std::span<const float> weights)
      : values_(x.size()), weight_sums_(x.size() + 1), target_sums_(x.size() + 1) {
    const std::vector<std::uint64_t> keys = sorted_keys(x);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto at = static_cast<std::size_t>(keys[i] & kIndexMask);
      const double weight = weights.empty() ? 1 : static_cast<double>(weights[at]);
      const double target = targets.empty() ? x[at] : targets[at];
      values_[i] = x[at];
      weight_sums_[i + 1] = weight_sums_[i] + weight;
      target_sums_[i + 1] = target_sums_[i] + weight * target;
      squares_ += weight * target * target;
    }
  }

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] float low() const { return values_.front(); }
  [[nodiscard]] float high() const { return values_.back(); }
  [[nodiscard]] double total_weight() const { return weight_sums_.back(); }
  [[nodiscard]] double target_squares() const { return squares_; }
  /// Number of values at or below a threshold. It looks from `from` on, in steps that double: the
  /// next threshold is near.
  /// @param from  the number for a lower threshold, or 0
  [[nodiscard]] std::size_t count_to(float threshold, std::size_t from) const {
    std::size_t end = from;
    for (std::size_t step = 1; end < values_.size() && values_[end] <= threshold; step *= 2) {
      from = end + 1;
      end = from + step;
    }
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = values_.begin() + static_cast<std::ptrdiff_t>(std::min(end, values_.size()));
    return static_cast<std::size_t>(std::upper_bound(first, last, threshold) - values_.begin());
  }
  /// The position that has a fraction of the weight before it.
  [[nodiscard]] std::size_t quantile(double fraction) const {
    const double wanted = fraction * total_weight();
    const auto at = std::ranges::lower_bound(weight_sums_, wanted) - weight_sums_.begin();
    return std::min(static_cast<std::size_t>(at), values_.size());
  }
  [[nodiscard]] double weight(std::size_t begin, std::size_t end) const {
    return weight_sums_[end] - weight_sums_[begin];
  }
  [[nodiscard]] double target(std::size_t begin, std::size_t end) const {
    return target_sums_[end] - target_sums_[begin];
  }

 private:
  static constexpr std::uint64_t kIndexMask = 0xffffffff;

  /// The values and their indices as numbers in ascending order, which sorts faster than indices.
  static std::vector<std::uint64_t> sorted_keys(std::span<const float> x) {
    HALFTONE_ASSERT(x.size() <= kIndexMask);
    std::vector<std::uint64_t> keys(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      // Bits of floats ascend with the numbers if those of negative ones are inverted. -0 is 0.
      const auto bits = std::bit_cast<std::uint32_t>(x[i] + 0.0F);
      const std::uint32_t key = bits ^ ((bits >> 31) != 0 ? 0xffffffff : 0x80000000);
      keys[i] = std::uint64_t{key} << 32 | i;
    }
    std::ranges::sort(keys);
    return keys;
  }

  std::vector<float> values_;
  std::vector<double> weight_sums_;
  std::vector<double> target_sums_;
  double squares_ = 0;
};

/// The values of each code: cell l holds positions [bounds[l], bounds[l + 1]).
struct Assignment {
  std::vector<numerics::Code> codes;
  std::vector<std::size_t> bounds;
  bool operator==(const Assignment&) const = default;
};

Assignment assign(const SortedSample& sample, const LevelTable& table, std::size_t count) {
  Assignment result;
  result.codes.assign(table.codes().begin(), table.codes().end());
  result.bounds.reserve(table.size() + 1);
  result.bounds.push_back(0);
  for (const float threshold : table.thresholds()) {
    result.bounds.push_back(sample.count_to(threshold, result.bounds.back()));
  }
  result.bounds.push_back(count);
  return result;
}

/// The normal equations of the parameters for fixed codes.
struct NormalEquations {
  Matrix gram;
  Vector rhs;
};

NormalEquations normal_equations(const ParameterSpace& space, const SortedSample& sample,
                                 const Assignment& assignment) {
  NormalEquations equations{Matrix::Zero(space.size(), space.size()), Vector::Zero(space.size())};
  auto& [gram, rhs] = equations;
  for (std::size_t l = 0; l < assignment.codes.size(); ++l) {
    const std::size_t begin = assignment.bounds[l];
    const std::size_t end = assignment.bounds[l + 1];
    if (begin == end) continue;
    const auto features = space.features().row(assignment.codes[l]);
    const double weight = sample.weight(begin, end);
    const double target = sample.target(begin, end);
    for (Eigen::Index i = 0; i < rhs.size(); ++i) {
      const double weighted = weight * features[i];
      for (Eigen::Index j = i; j < rhs.size(); ++j) gram(i, j) += weighted * features[j];
      rhs[i] += target * features[i];
    }
  }
  for (Eigen::Index i = 0; i < rhs.size(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) gram(i, j) = gram(j, i);
  }
  return equations;
}

double squared_error(const SortedSample& sample, std::span<const float> levels,
                     const Assignment& assignment) {
  double error = sample.target_squares();
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const double level{levels[l]};
    const std::size_t begin = assignment.bounds[l];
    const std::size_t end = assignment.bounds[l + 1];
    error += level * (level * sample.weight(begin, end) - 2 * sample.target(begin, end));
  }
  return std::max(error, 0.0);
}

/// The error of the levels of a codebook at a scale above zero, without offset. Thresholds are
/// scaled, so that a number next to one may count for the neighbouring level, unless the scale is a
/// power of two. This takes a tenth of the time of assign().
double error_at_scale(const SortedSample& sample, const numerics::Codebook& codebook,
                      double scale) {
  double error = sample.target_squares();
  std::size_t begin = 0;
  for (std::size_t l = 0; l < codebook.sorted().size(); ++l) {
    const bool is_last = l == codebook.thresholds().size();
    const std::size_t end =
        is_last
            ? sample.size()
            : sample.count_to(static_cast<float>(scale * double{codebook.thresholds()[l]}), begin);
    if (begin == end) continue;
    const double level = scale * double{codebook.sorted()[l]};
    error += level * (level * sample.weight(begin, end) - 2 * sample.target(begin, end));
    begin = end;
  }
  return error;
}

/// One fit in progress: improves parameters until codes stop changing.
class Alternation {
 public:
  Alternation(const ParameterSpace& space, const SortedSample& sample, std::size_t count,
              const LevelFitOptions& options)
      : space_(space),
        sample_(sample),
        count_(count),
        options_(options),
        best_{space.to_levels(Vector::Zero(space.size())),
              std::numeric_limits<double>::infinity()} {}

  /// Starts from codes: the first parameters are their least-squares solution.
  void run_from(const Assignment& start) {
    run_from(solve(normal_equations(space_, sample_, start)));
  }

  void run_from(Vector parameters) {
    std::optional<Assignment> previous;
    for (int i = 0; i <= options_.iterations; ++i) {
      const Assignment codes = try_levels(space_.to_levels(parameters));
      if (options_.solver == LevelSolver::kLeastSquares && previous == codes) return;
      const NormalEquations equations = normal_equations(space_, sample_, codes);
      if (options_.solver == LevelSolver::kLeastSquares) {
        parameters = solve(equations);
      } else {
        parameters -= options_.learning_rate * gradient(equations, parameters);
      }
      previous = codes;
    }
  }

  /// Adds finished levels as a candidate and as a start.
  void run_from(const Levels& levels) { run_from(try_levels(levels)); }

  /// Adds finished levels as a candidate. @return the codes
  Assignment try_levels(const Levels& levels) {
    const LevelTable table(levels);
    Assignment codes = assign(sample_, table, count_);
    const double error = squared_error(sample_, table.levels(), codes);
    if (error < best_.error) best_ = {levels, error};
    return codes;
  }

  [[nodiscard]] const LevelFit& best() const { return best_; }

 private:
  /// The scale is the best one for the offset as stored.
  [[nodiscard]] Vector solve(const NormalEquations& equations) const {
    const auto& [gram, rhs] = equations;
    Vector parameters = solve_ridge(gram, rhs);
    if (space_.rounds_offsets() && gram(0, 0) > 0) {
      parameters[1] = double{space_.to_levels(parameters).offset()};
      parameters[0] = (rhs[0] - gram(0, 1) * parameters[1]) / gram(0, 0);
    }
    if (space_.has_zero_points()) {
      const Levels levels = space_.to_levels(parameters);
      const double z = space_.codebook()->zero_point(double{levels.scale()}, parameters[1]);
      return space_.with_zero_point(gram, rhs, z);
    }
    return parameters;
  }

  /// Of the mean squared error plus lambda |p|^2.
  [[nodiscard]] Vector gradient(const NormalEquations& equations, const Vector& p) const {
    const double weight = std::max(sample_.total_weight(), std::numeric_limits<double>::min());
    return 2 / weight * (multiply(equations.gram, p) - equations.rhs) + 2 * options_.l2_penalty * p;
  }

  const ParameterSpace& space_;
  const SortedSample& sample_;
  std::size_t count_;
  const LevelFitOptions& options_;
  LevelFit best_;
};

/// Cells of equal width over [low, high], in the order of the codes as integers.
Assignment even_start(const SortedSample& sample, int bits, float low, float high,
                      std::size_t count) {
  return assign(sample, LevelTable(Levels(numerics::range_basis(bits, low, high))), count);
}

/// Cells of equal weight.
Assignment quantile_start(const SortedSample& sample, int bits, std::size_t count) {
  const std::size_t levels = std::size_t{1} << bits;
  Assignment start;
  for (std::size_t l = 0; l < levels; ++l) {
    start.codes.push_back(static_cast<numerics::Code>(l));
    start.bounds.push_back(sample.quantile(static_cast<double>(l) / static_cast<double>(levels)));
  }
  start.bounds.front() = 0;
  start.bounds.push_back(count);
  return start;
}

/// Bit by bit: the mean absolute residual becomes the next smaller coefficient.
Basis greedy_basis(const SortedSample& sample, std::span<const float> x, int bits, bool offset) {
  const double mean =
      offset ? sample.target(0, x.size()) / std::max(sample.total_weight(), 1e-300) : 0;
  std::vector<double> rest(x.begin(), x.end());
  for (double& value : rest) value -= mean;
  Basis basis;
  basis.bits = bits;
  basis.offset = static_cast<float>(mean);
  for (int i = bits; i-- > 0;) {
    double size = 0;
    for (const double value : rest) size += std::abs(value);
    size /= static_cast<double>(rest.size());
    for (double& value : rest) value -= value < 0 ? -size : size;
    basis.coefficients[static_cast<std::size_t>(i)] = static_cast<float>(size);
  }
  return basis;
}

/// Whether codes are in the order of 2^K different levels, so that cells of a sample can start a
/// fit.
bool has_ordered_codes(const ParameterSpace& space) {
  return space.bits() <= numerics::kMaxBits &&
         (space.codebook() == nullptr || space.codebook()->is_even());
}

/// The factors by which the range of the values is narrowed: rare extremes may share the outer
/// level.
constexpr std::array kParts = {1.0F, 0.75F, 0.5F, 0.3F};

/// Of learned and evenly spaced levels.
void start_from_cells(Alternation& alternation, const ParameterSpace& space,
                      const SortedSample& sample, std::size_t count) {
  for (const float part : kParts) {
    const float cut = (sample.high() / 2 - sample.low() / 2) * (1 - part);
    alternation.run_from(
        even_start(sample, space.bits(), sample.low() + cut, sample.high() - cut, count));
  }
  alternation.run_from(quantile_start(sample, space.bits(), count));
}

/// Of any codebook: the levels that reach from the lowest to the highest value. If larger numbers
/// are to have lower levels, the scale is negative.
void start_from_range(Alternation& alternation, const ParameterSpace& space,
                      const SortedSample& sample) {
  for (const float part : kParts) {
    for (const bool is_reversed : {false, true}) {
      if (is_reversed && space.has_symmetric_levels()) continue;
      Vector parameters = space.covering(sample.low(), sample.high(), is_reversed);
      parameters[0] *= part;
      alternation.run_from(parameters);
    }
  }
}

/// Of any codebook without offset: the best of the scales from the one that gives the largest
/// magnitude the level 1/8 down to a sixteenth of the one that gives it the largest level. Levels
/// may be densest anywhere: those of posits are around 1, and sums of powers of two have gaps near
/// the largest.
void start_from_best_scale(Alternation& alternation, const ParameterSpace& space,
                           const SortedSample& sample) {
  constexpr double kLargeStep = 0.840896415253715;  // the fourth root of 1/2
  constexpr double kStep = 0.957603280698574;       // of which this is the fourth root
  constexpr double kSmallStep = 0.989228013193975;  // and this the 16th
  constexpr double kSmall = 1.0 / 8;                // levels between which the step is not large
  constexpr double kLarge = 16;
  const numerics::Codebook& codebook = *space.codebook();
  Vector parameters = space.covering(sample.low(), sample.high(), false);
  const double covering = parameters[0];
  const double magnitude =
      std::max(std::abs(double{sample.low()}), std::abs(double{sample.high()}));
  double least = std::numeric_limits<double>::infinity();
  const auto try_scale = [&](double scale) {
    const double error = error_at_scale(sample, codebook, scale);
    if (error >= least) return;
    least = error;
    parameters[0] = scale;
  };
  double scale = std::max(covering, magnitude / kSmall);
  while (scale > covering / 16) {
    try_scale(scale);
    scale *= scale > 2 * covering && scale * kLarge < magnitude ? kLargeStep : kStep;
  }
  const double found = parameters[0];
  for (scale = found / kStep; scale > found * kStep; scale *= kSmallStep) try_scale(scale);
  alternation.run_from(parameters);
}

/// Tries scales that are powers of two: from the one at which no value is beyond the levels down to
/// the fifth below, and on while the error falls. That is four below the rule's, which may be one
/// below the first. Of equal ones the largest is kept.
void try_powers_of_two(Alternation& alternation, const ParameterSpace& space,
                       const SortedSample& sample) {
  constexpr int kSteps = 5;
  Vector parameters = space.covering(sample.low(), sample.high(), false);
  int exponent = 0;
  if (std::frexp(parameters[0], &exponent) == 0.5) --exponent;
  Levels best = space.to_levels(parameters);
  double least = std::numeric_limits<double>::infinity();
  int best_step = 0;
  for (int step = 0; step <= std::max(kSteps, best_step + 1); ++step) {
    if (parameters[0] != 0) parameters[0] = std::ldexp(1.0, exponent - step);
    const Levels levels = space.to_levels(parameters);
    const double error = error_at_scale(sample, *space.codebook(), levels.scale());
    // Sums of equal errors may differ in their last bits.
    if (error >= least - 1e-12 * sample.target_squares()) continue;
    least = error;
    best = levels;
    best_step = step;
  }
  alternation.try_levels(best);
}

/// Whether numbers beyond the levels become infinity or NaN.
bool overflows(const ParameterSpace& space) {
  return space.codebook() != nullptr && space.codebook()->beyond().has_value();
}

/// So many levels need no fit: the range decides, or the rule of a system that has no scale, or
/// whose largest levels are far apart. Where larger numbers would overflow, levels cover twice the
/// range: the sample may lack the largest, and a factor of two costs floats only their smallest
/// numbers.
void cover_range(Alternation& alternation, const ParameterSpace& space,
                 const SortedSample& sample) {
  const double low{sample.low()};
  const double high{sample.high()};
  const double factor = overflows(space) ? 2 : 1;
  Vector parameters = space.covering(factor * low, factor * high, false);
  const numerics::NumberSystem& system = numerics::find_system(space.codebook()->name());
  if (system.rule == numerics::ScaleRule::kUnit) parameters[0] = 1;
  alternation.try_levels(space.to_levels(parameters));
  if (system.largest == 0) return;
  parameters[0] = std::max(std::abs(low), std::abs(high)) / system.largest;
  alternation.try_levels(space.to_levels(parameters));
}

/// Evenly spaced levels over the range and parts of it. With seven bits and more, narrower ones
/// lose more at the ends than they gain between them, unless few values are far from the others.
void start_from_best_range(Alternation& alternation, const ParameterSpace& space,
                           const SortedSample& sample) {
  for (const double part : {1.0, 0.95, 0.9, 0.8, 0.65}) {
    const double cut = (double{sample.high()} - double{sample.low()}) / 2 * (1 - part);
    alternation.try_levels(
        space.to_levels(space.covering(sample.low() + cut, sample.high() - cut, false)));
  }
  alternation.run_from(Levels(alternation.best().levels));
}

/// fit_levels() of values that are sorted already.
LevelFit fit_sorted(const ParameterSpace& space, const SortedSample& sample,
                    std::span<const float> x, const LevelFitOptions& options) {
  Alternation alternation(space, sample, x.size(), options);
  if (space.has_coarse_scales()) {
    try_powers_of_two(alternation, space, sample);
    return alternation.best();
  }
  if (space.bits() > numerics::kMaxBits || overflows(space)) {
    cover_range(alternation, space, sample);
    return alternation.best();
  }
  const bool is_even = space.codebook() != nullptr && space.codebook()->is_even();
  if (options.has_one_start && is_even) {
    start_from_best_range(alternation, space, sample);
    return alternation.best();
  }
  if (has_ordered_codes(space)) {
    start_from_cells(alternation, space, sample, x.size());
  } else {
    start_from_range(alternation, space, sample);
    if (!space.has_offset()) start_from_best_scale(alternation, space, sample);
  }
  if (space.is_free_basis()) {
    alternation.run_from(greedy_basis(sample, x, space.bits(), space.has_offset()));
    // The evenly spaced systems are bases too, so a basis never ends worse than they do.
    const auto levels = codebook_of(numerics::find_system("symmetric"), space.bits());
    const ParameterSpace even(levels, space.has_offset());
    alternation.run_from(fit_sorted(even, sample, x, options).levels.basis());
  }
  return alternation.best();
}

}  // namespace

LevelFit fit_levels(const ParameterSpace& space, std::span<const float> x,
                    std::span<const float> targets, std::span<const float> weights,
                    const LevelFitOptions& options) {
  HALFTONE_ASSERT(targets.empty() || targets.size() == x.size());
  HALFTONE_ASSERT(weights.empty() || weights.size() == x.size());
  if (x.empty()) return {space.to_levels(Vector::Zero(space.size())), 0};
  return fit_sorted(space, SortedSample(x, targets, weights), x, options);
}

LevelFit fit_small_ratio(const LevelFit& free, bool offset, std::span<const float> x,
                         std::span<const float> targets, const LevelFitOptions& options) {
  HALFTONE_ASSERT(free.levels.bits() == 2 && free.levels.codebook() == nullptr);
  const Basis basis = free.levels.basis();
  // Signs and order of planes affect the codes, not the levels.
  const float a = std::abs(basis.coefficients[0]);
  const float b = std::abs(basis.coefficients[1]);
  const double ratio = std::max(a, b) / std::max(std::min(a, b), 1e-30F);
  std::array<int, 2> below{1, 1};
  std::array<int, 2> above{1, numerics::kMaxReach - 1};
  const auto value = [](const std::array<int, 2>& m) { return static_cast<double>(m[1]) / m[0]; };
  for (int reach = 2; reach <= numerics::kMaxReach; ++reach) {
    for (int p = 1; 2 * p <= reach; ++p) {
      const std::array<int, 2> multiples{p, reach - p};
      if (value(multiples) <= ratio && value(multiples) > value(below)) below = multiples;
      if (value(multiples) >= ratio && value(multiples) < value(above)) above = multiples;
    }
  }
  const auto fit = [&](const std::array<int, 2>& multiples) {
    const ParameterSpace space({multiples[0], multiples[1]}, offset);
    return fit_levels(space, x, targets, {}, options);
  };
  const LevelFit lower = fit(below);
  const LevelFit upper = fit(above);
  return upper.error < lower.error ? upper : lower;
}

}  // namespace halftone::compress
