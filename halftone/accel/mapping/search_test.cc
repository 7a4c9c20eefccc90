// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/search.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "halftone/accel/mapping/spatial_choices.h"
#include "halftone/accel/mapping/testing.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::accel::mapping {
namespace {

using Cost2 = std::pair<double, double>;

Cost2 cost_of_evaluation(Objective objective, const MappingCosts& found) {
  if (objective == Objective::kTime) return {found.cycles, found.energy_pj};
  if (objective == Objective::kEnergy) return {found.energy_pj, found.cycles};
  return {found.energy_pj * found.cycles, found.cycles};
}

/// Evaluates every mapping, one by one.
class BruteForce {
 public:
  BruteForce(const Problem& problem, const Hierarchy& hierarchy, const SearchOptions& options)
      : hierarchy_(hierarchy), objective_(options.objective) {
    for (const SpatialChoice& choice : spatial_choices(problem, hierarchy, options.pads)) {
      problem_ = pad(problem, choice.extents);
      mapping_.levels.clear();
      for (std::size_t l = 0; l < hierarchy.levels.size(); ++l) {
        mapping_.levels.push_back({{}, choice.loops[l], hierarchy.levels[l].keeps});
      }
      split(choice.temporal, 0, 0);
    }
  }

  [[nodiscard]] const std::optional<Cost2>& best() const { return best_; }

 private:
  [[nodiscard]] bool is_memory(std::size_t level) const {
    const auto& keeps = hierarchy_.levels[level].keeps;
    return std::find(keeps.begin(), keeps.end(), true) != keeps.end();
  }

  /// Gives level l and those inside all bounds of dimension d and those after it.
  void split(Extents rest, std::size_t l, std::size_t d) {
    if (l == mapping_.levels.size()) {
      const auto left = std::find_if(rest.begin(), rest.end(), [](auto i) { return i > 1; });
      if (left == rest.end()) order(0);
      return;
    }
    if (d == problem_.dimensions.size()) {
      split(rest, l + 1, 0);
      return;
    }
    for (std::uint64_t bound = 1; bound <= (is_memory(l) ? rest[d] : 1); ++bound) {
      if (rest[d] % bound != 0) continue;
      Extents next = rest;
      next[d] /= bound;
      if (bound > 1) mapping_.levels[l].temporal.push_back({d, bound});
      split(next, l, d + 1);
      if (bound > 1) mapping_.levels[l].temporal.pop_back();
    }
  }

  /// Tries every order of the loops of level l and those inside.
  void order(std::size_t l) {
    if (l == mapping_.levels.size()) {
      measure();
      return;
    }
    auto& loops = mapping_.levels[l].temporal;
    const auto before = [](const TemporalLoop& a, const TemporalLoop& b) {
      return a.dimension < b.dimension;
    };
    do {
      order(l + 1);
    } while (std::next_permutation(loops.begin(), loops.end(), before));
  }

  void measure() {
    for (std::size_t l = 0; l < mapping_.levels.size(); ++l) {
      const Level& level = hierarchy_.levels[l];
      const auto bits = tile_bits(problem_, level, mapping_.levels[l], extents_within(mapping_, l));
      if (level.capacity_bits != 0 && bits > level.capacity_bits) return;
    }
    const Cost2 cost = cost_of_evaluation(objective_, evaluate(problem_, hierarchy_, mapping_));
    if (!best_ || cost < *best_) best_ = cost;
  }

  const Hierarchy& hierarchy_;
  Objective objective_;
  Problem problem_;
  Mapping mapping_;
  std::optional<Cost2> best_;
};

/// Levels with random sizes, energies, bandwidths and fan-outs.
Hierarchy random_hierarchy(const Problem& problem, std::size_t count, Random& random) {
  Hierarchy hierarchy;
  hierarchy.mac_pj = random.uniform();
  for (std::size_t l = 0; l < count; ++l) {
    Level level;
    level.name = "level";
    for (std::size_t x = 0; x < problem.data_spaces.size(); ++x) {
      level.keeps.push_back(l == 0 || random.below(4) != 0);
    }
    if (l > 0) level.capacity_bits = 100 + random.below(2000) / l;
    level.copies = 1 + random.below(2);
    level.access_bits = 1 + random.below(40);
    level.read_pj = 100 * random.uniform() / static_cast<double>(l + 1);
    level.write_pj = 100 * random.uniform() / static_cast<double>(l + 1);
    level.update_pj = 100 * random.uniform() / static_cast<double>(l + 1);
    level.leakage_pj = random.uniform();
    if (random.below(2) == 0) level.bits_per_cycle = 1 + 50 * random.uniform();
    if (random.below(2) == 0) level.fan_out.push_back({1 + random.below(4), {}});
    if (random.below(4) == 0) level.fan_out.push_back({1 + random.below(4), {1, 2}});
    hierarchy.levels.push_back(level);
  }
  return hierarchy;
}

/// Small enough to try every mapping on that many levels.
Problem random_small_problem(std::size_t num_levels, Random& random) {
  const auto size = [&](std::uint64_t largest) { return 1 + random.below(largest); };
  const auto divisible = [&] {
    return std::array{1U, 2U, 4U, 5U, 6U, 8U, 9U, 12U}[random.below(num_levels < 4 ? 8 : 5)];
  };
  if (random.below(3) != 0) {
    return matrix_product(divisible(), divisible(), divisible(), {8, 2, 16});
  }
  ConvolutionSizes sizes;
  sizes.m = size(2);
  sizes.p = size(4);
  sizes.r = size(3);
  sizes.strides = {size(2), 1};
  return convolution(sizes);
}

TEST(Search, FindsTheBestOfAllMappings) {
  Random random(11);
  int found_any = 0;
  for (int i = 0; i < 100; ++i) {
    const std::size_t num_levels = 1 + random.below(4);
    const Problem problem = random_small_problem(num_levels, random);
    const Hierarchy hierarchy = random_hierarchy(problem, num_levels, random);
    for (const Objective objective :
         {Objective::kTime, Objective::kEnergy, Objective::kEnergyTime}) {
      const SearchOptions options{objective, i % 2 == 0};
      const BruteForce brute_force(problem, hierarchy, options);
      if (!brute_force.best()) {
        expect_error(ErrorKind::kShape, "no mapping fits: level ",
                     [&] { static_cast<void>(find_mapping(problem, hierarchy, options)); });
        continue;
      }
      ++found_any;
      const FoundMapping found = find_mapping(problem, hierarchy, options);
      const Cost2 cost = cost_of_evaluation(objective, found.evaluation);
      const auto [best, second] = *brute_force.best();
      EXPECT_DOUBLE_EQ(cost.first, best) << "problem " << i;
      // Energies that are equal but for rounding may have different cycles.
      if (objective == Objective::kTime) {
        EXPECT_DOUBLE_EQ(cost.second, second) << "problem " << i;
      }
    }
  }
  EXPECT_GT(found_any, 250);
}

TEST(SpatialChoices, FillAxesAsFarAsADimensionAllows) {
  const Problem problem = matrix_product(1000, 6, 11);
  Hierarchy hierarchy;
  hierarchy.levels = {keeping("memory", {true, true, true})};
  hierarchy.levels[0].fan_out = {{32, {0}}, {4, {1}}};
  const auto padded = spatial_choices(problem, hierarchy, true);
  // 1000 is 32 x 32 less 24, 6 is 2 x 3, and 11 stays or becomes 12.
  ASSERT_EQ(padded.size(), 2U);
  EXPECT_EQ(padded[0].loops[0][0].bound, 32U);
  EXPECT_EQ(padded[0].loops[0][1].bound, 3U);
  EXPECT_EQ(padded[0].extents[0], 1024U);
  EXPECT_EQ(padded[0].extents[1], 6U);
  EXPECT_EQ(padded[0].extents[2], 11U);
  EXPECT_EQ(padded[1].extents[2], 12U);
  const auto exact = spatial_choices(problem, hierarchy, false);
  ASSERT_EQ(exact.size(), 1U);
  EXPECT_EQ(exact[0].loops[0][0].bound, 25U);
  EXPECT_EQ(exact[0].extents, extents_of(problem));
}

TEST(Search, NamesTheLevelThatIsTooSmall) {
  const Problem problem = matrix_product(16, 16, 16);
  Hierarchy hierarchy;
  hierarchy.levels = {keeping("memory", {true, true, true}), keeping("buffer", {true, true, true})};
  hierarchy.levels[1].fan_out = {{4, {0}}};
  hierarchy.levels[1].capacity_bits = 64;
  expect_error(ErrorKind::kShape,
               "no mapping fits: level buffer: the smallest tiles for the instances below it need "
               "72 bits, it has 64",
               [&] { static_cast<void>(find_mapping(problem, hierarchy)); });
  hierarchy.levels[1].capacity_bits = 72;
  EXPECT_EQ(find_mapping(problem, hierarchy).evaluation.utilized_macs, 4U);
}

TEST(Search, RejectsProblemsWithTooManyTilings) {
  ConvolutionSizes sizes;
  sizes.n = sizes.c = sizes.m = sizes.p = sizes.q = 720;
  const Problem problem = convolution(sizes);
  Hierarchy hierarchy;
  hierarchy.levels = {keeping("memory", {true, true, true}), keeping("buffer", {true, true, true})};
  hierarchy.levels[1].capacity_bits = std::uint64_t{1} << 40U;
  expect_error(ErrorKind::kShape, "level buffer: more than 2^18 tilings fit",
               [&] { static_cast<void>(find_mapping(problem, hierarchy)); });
}

}  // namespace
}  // namespace halftone::accel::mapping
