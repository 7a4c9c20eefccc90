// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>

#include "halftone/compress/budget/knapsack_core.h"
#include "halftone/compress/budget/nondominated.h"

namespace halftone::compress {
namespace {

/// A choice that is not the first of its item, and the ones before it.
struct Link {
  std::uint32_t before = 0;  ///< index of a link; 0: none
  std::uint32_t item = 0;
  std::uint32_t choice = 0;
};

/// The sums over all items, of which some are decided and the others have their first choices.
struct Sum {
  double reduced = 0;
  double cost = 0;
  double bound = 0;  ///< what choices that follow cost at least
  KnapsackSizes sizes{};
  std::uint32_t link = 0;
  std::uint32_t choice = 0;  ///< of the item that is decided last
};

/// The bounds of sums at several multipliers.
struct RestBounds {
  std::vector<KnapsackMultipliers> at;
  std::vector<double> rest;  ///< [items + 1, at]: the most that items from one on can save
};

class ChoiceSearch {
 public:
  ChoiceSearch(const KnapsackCore& core, const KnapsackBound& bound, std::size_t max_sums)
      : core_(core), bound_(bound), max_sums_(max_sums) {
    for (CoreItem& item : core_.items) reduce(item);
    // Items of large sizes first: small ones then fill what is left, which bounds tell well.
    std::ranges::stable_sort(core_.items, std::greater(),
                             [&](const CoreItem& item) { return spread(item); });
    for (const CoreItem& item : core_.items) {
      first_.cost += item.choices[0].cost;
      for (std::size_t k = 0; k < 2; ++k) first_.sizes[k] += item.choices[0].sizes[k];
    }
    most_ = std::max(0.0, core_.scale - bound_.value);
    saved_sizes_.resize(core_.items.size() + 1);
    for (std::size_t i = core_.items.size(); i-- > 0;) {
      // The least sizes of items are 0.
      const KnapsackSizes& sizes = core_.items[i].choices[0].sizes;
      for (std::size_t k = 0; k < 2; ++k) saved_sizes_[i][k] = saved_sizes_[i + 1][k] + sizes[k];
    }
    find_rest_bounds();
  }

  /// Looks for costs a little above the bound, then for larger ones. Reduced costs are no more than
  /// costs are above the bound.
  FoundChoices run() {
    double limit = first_limit();
    while (look(limit)) {
      const bool is_proven = found_.cost <= bound_.value + limit + core_.tolerance;
      found_.least_cost = std::min(found_.cost, bound_.value + limit);
      found_.is_complete = is_proven || limit >= most_;
      if (found_.is_complete) return std::move(found_);
      limit = std::min(2 * limit, most_);
    }
    constexpr std::size_t kWidth = 1 << 10;
    width_ = kWidth;
    look(most_);
    return std::move(found_);
  }

 private:
  static double second_reduced(const CoreItem& item) {
    return item.choices.size() > 1 ? item.choices[1].reduced
                                   : std::numeric_limits<double>::infinity();
  }

  void reduce(CoreItem& item) const {
    const auto value = [&](const CoreChoice& each) {
      return each.cost + weighted(each.sizes, bound_.at);
    };
    const double least = value(std::ranges::min(item.choices, {}, value));
    for (CoreChoice& each : item.choices) each.reduced = value(each) - least;
    std::ranges::stable_sort(item.choices, {}, &CoreChoice::reduced);
  }

  [[nodiscard]] double spread(const CoreItem& item) const {
    double largest = 0;
    for (const CoreChoice& each : item.choices) {
      largest = std::max(largest, weighted(each.sizes, bound_.at));
    }
    return item.choices.size() > 1 ? largest : 0;
  }

  /// With it, a few items may change.
  [[nodiscard]] double first_limit() const {
    constexpr std::size_t kItems = 8;
    std::vector<double> seconds;
    for (const CoreItem& item : core_.items) seconds.push_back(second_reduced(item));
    std::ranges::sort(seconds);
    return std::clamp(seconds[std::min(kItems, seconds.size()) - 1], core_.tolerance,
                      std::max(core_.tolerance, most_));
  }

  /// With multipliers around those of the bound, for each direction in which sizes may miss the
  /// budgets: near ones for small misses, far ones for large ones.
  void find_rest_bounds() {
    constexpr std::array<std::array<double, 6>, 2> kFactors = {
        {{1, 0.997, 0.99, 0.97, 0.9, 0.6}, {1, 1.003, 1.01, 1.03, 1.1, 1.6}}};
    for (std::size_t side = 0; side < rest_bounds_.size(); ++side) {
      RestBounds& bounds = rest_bounds_[side];
      for (const double a : kFactors[side % 2]) {
        for (const double b : kFactors[side / 2]) {
          const KnapsackMultipliers m = {a * bound_.at[0], b * bound_.at[1]};
          const bool is_new = (m[0] > 0 || a == 1) && (m[1] > 0 || b == 1);
          if (is_new) bounds.at.push_back(m);
        }
      }
      const std::size_t count = bounds.at.size();
      bounds.rest.resize((core_.items.size() + 1) * count);
      for (std::size_t i = core_.items.size(); i-- > 0;) {
        for (std::size_t k = 0; k < count; ++k) {
          bounds.rest[i * count + k] =
              bounds.rest[(i + 1) * count + k] - largest_saving(core_.items[i], bounds.at[k]);
        }
      }
    }
  }

  /// By how much another choice can be below the first one.
  static double largest_saving(const CoreItem& item, const KnapsackMultipliers& m) {
    const CoreChoice& first = item.choices[0];
    double saved = 0;
    for (const CoreChoice& each : item.choices) {
      const double more = weighted(difference(each.sizes, first.sizes), m);
      saved = std::max(saved, first.cost - each.cost - more);
    }
    return saved;
  }

  /// Looks at all sums that may lead to costs of at most the limit above the bound, and better than
  /// what was found.
  /// @return  false if they are too many
  bool look(double limit) {
    const double better = found_.cost - bound_.value - core_.tolerance;
    limit_ = std::min(limit + core_.tolerance, better);
    links_.assign(1, {});
    kept_before_ = 0;
    std::vector<Sum> sums = {first_};
    offer(first_, 0);
    for (std::size_t i = 0; i < core_.items.size(); ++i) {
      if (second_reduced(core_.items[i]) > limit_) continue;
      sums = linked(undominated(decided(sums, i)), i);
      if (num_sums_ > max_sums_ && width_ == 0) return false;
    }
    return true;
  }

  /// The sums after an item is decided.
  std::vector<Sum> decided(const std::vector<Sum>& sums, std::size_t i) {
    const std::vector<CoreChoice>& choices = core_.items[i].choices;
    std::vector<Sum> all;
    for (const Sum& sum : sums) {
      for (std::uint32_t j = 0; j < choices.size(); ++j) {
        Sum next = sum;
        next.reduced += choices[j].reduced;
        if (next.reduced > limit_) break;
        ++num_sums_;
        next.choice = j;
        next.cost += choices[j].cost - choices[0].cost;
        for (std::size_t k = 0; k < 2; ++k) {
          next.sizes[k] += choices[j].sizes[k] - choices[0].sizes[k];
        }
        if (j > 0) offer(next, static_cast<std::uint32_t>(i));
        if (!may_fit(next, i + 1)) continue;
        next.bound = bound_of(next, i + 1);
        if (next.bound <= bound_.value + limit_) all.push_back(next);
      }
    }
    return all;
  }

  /// Whether the sizes can come within each budget by itself.
  [[nodiscard]] bool may_fit(const Sum& sum, std::size_t next) const {
    return sum.sizes[0] - saved_sizes_[next][0] <= core_.budgets[0] &&
           sum.sizes[1] - saved_sizes_[next][1] <= core_.budgets[1];
  }

  /// What the costs are at least once all items from `next` on are decided.
  [[nodiscard]] double bound_of(const Sum& sum, std::size_t next) const {
    const KnapsackSizes over = difference(sum.sizes, core_.budgets);
    const RestBounds& bounds = rest_bounds_[(over[0] > 0 ? 1U : 0U) + (over[1] > 0 ? 2U : 0U)];
    const auto first = static_cast<double>(over[0]);
    const auto second = static_cast<double>(over[1]);
    const std::size_t count = bounds.at.size();
    const double* rest = bounds.rest.data() + next * count;
    double greatest = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < count; ++k) {
      greatest = std::max(greatest, bounds.at[k][0] * first + bounds.at[k][1] * second + rest[k]);
    }
    return sum.cost + greatest;
  }

  /// Without sums that others dominate, once there are many more than before.
  std::vector<Sum> undominated(std::vector<Sum> all) {
    constexpr double kGrowth = 1.5;
    if (static_cast<double>(all.size()) >= kGrowth * static_cast<double>(kept_before_)) {
      std::vector<std::tuple<std::int64_t, std::int64_t, double>> points;
      points.reserve(all.size());
      for (const Sum& sum : all) points.emplace_back(sum.sizes[0], sum.sizes[1], sum.cost);
      std::vector<Sum> kept;
      for (const std::size_t index : nondominated(points)) kept.push_back(all[index]);
      all = std::move(kept);
      kept_before_ = all.size();
    }
    if (width_ != 0 && all.size() > width_) {
      std::ranges::stable_sort(all, {}, &Sum::bound);
      all.resize(width_);
    }
    return all;
  }

  std::vector<Sum> linked(std::vector<Sum> sums, std::size_t i) {
    for (Sum& sum : sums) {
      if (sum.choice == 0) continue;
      links_.push_back({sum.link, static_cast<std::uint32_t>(i), sum.choice});
      sum.link = static_cast<std::uint32_t>(links_.size() - 1);
      sum.choice = 0;
    }
    return sums;
  }

  /// Takes the choices of a sum if they are within the budgets and better than those before.
  /// @param i  the item that is decided last
  void offer(const Sum& sum, std::uint32_t i) {
    if (sum.sizes[0] > core_.budgets[0] || sum.sizes[1] > core_.budgets[1]) return;
    if (sum.cost >= found_.cost) return;
    found_.cost = sum.cost;
    limit_ = std::min(limit_, sum.cost - bound_.value - core_.tolerance);
    found_.choices.resize(core_.items.size());
    for (const CoreItem& item : core_.items) found_.choices[item.index] = item.choices[0].index;
    const auto choose = [&](const Link& link) {
      const CoreItem& item = core_.items[link.item];
      found_.choices[item.index] = item.choices[link.choice].index;
    };
    choose({0, i, sum.choice});
    for (std::uint32_t at = sum.link; at != 0; at = links_[at].before) choose(links_[at]);
  }

  KnapsackCore core_;  ///< the choices of its items come in ascending order of reduced costs
  KnapsackBound bound_;
  std::size_t max_sums_;
  double most_ = 0;  ///< by how much costs exceed the bound at most, and so reduced costs
  Sum first_;
  std::array<RestBounds, 4> rest_bounds_;  ///< 1 and 2: the first and the second size are too large
  std::vector<KnapsackSizes> saved_sizes_;  ///< [items + 1]: by items from one on, at most
  double limit_ = 0;                        ///< of costs above the bound, in this look
  std::vector<Link> links_;
  std::size_t kept_before_ = 0;
  std::size_t num_sums_ = 0;  ///< of all looks
  std::size_t width_ = 0;     ///< keep so many sums; 0: all
  FoundChoices found_;
};

}  // namespace

FoundChoices search_choices(const KnapsackCore& core, const KnapsackBound& bound,
                            std::size_t max_sums) {
  return ChoiceSearch(core, bound, max_sums).run();
}

}  // namespace halftone::compress
