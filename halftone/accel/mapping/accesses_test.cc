// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/accesses.h"

#include <algorithm>
#include <map>

#include "halftone/accel/mapping/execution.h"
#include "halftone/accel/mapping/testing.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::accel::mapping {
namespace {

/// The element of an input.
std::int64_t element(std::size_t space, const Word& word) {
  std::uint64_t hash = space + 1;
  for (const std::uint64_t coordinate : word) hash = hash * 31 + coordinate;
  return static_cast<std::int64_t>(hash % 17) - 8;
}

/// The output by plain loops over all dimensions.
std::map<Word, std::int64_t> plain_result(const Problem& problem) {
  std::map<Word, std::int64_t> result;
  const Extents extents = extents_of(problem);
  for (std::uint64_t i = 0; i < problem.macs(); ++i) {
    std::uint64_t rest = i;
    Extents index{};
    for (std::size_t d = 0; d < kMaxDimensions; ++d) {
      index[d] = rest % extents[d];
      rest /= extents[d];
    }
    std::int64_t product = 1;
    Word output;
    for (std::size_t x = 0; x < problem.data_spaces.size(); ++x) {
      Word word;
      for (const auto& axis : problem.data_spaces[x].axes) {
        word.push_back(0);
        for (const Term& term : axis) word.back() += term.stride * index[term.dimension];
      }
      if (problem.data_spaces[x].is_output) {
        output = word;
      } else {
        product *= element(x, word);
      }
    }
    result[output] += product;
  }
  return result;
}

Problem random_problem(Random& random) {
  const auto size = [&](std::uint64_t largest) { return 1 + random.below(largest); };
  if (random.below(2) == 0) return matrix_product(size(4), size(4), size(4));
  ConvolutionSizes sizes;
  sizes.c = size(2);
  sizes.m = size(2);
  sizes.p = size(4);
  sizes.q = size(2);
  sizes.r = size(3);
  sizes.s = size(2);
  sizes.strides = {size(2), size(2)};
  sizes.dilations = {size(2), 1};
  return convolution(sizes);
}

/// Puts each prime factor of each extent into a loop of its own, at a random level and position.
Mapping random_mapping(const Problem& problem, std::size_t num_levels, Random& random) {
  Mapping mapping;
  mapping.levels.resize(num_levels);
  for (LevelLoops& level : mapping.levels) {
    for (std::size_t x = 0; x < problem.data_spaces.size(); ++x) {
      level.keeps.push_back(&level == mapping.levels.data() || random.below(3) != 0);
    }
  }
  for (std::size_t d = 0; d < problem.dimensions.size(); ++d) {
    std::uint64_t rest = problem.dimensions[d].extent;
    for (std::uint64_t factor = 2; rest > 1; rest % factor == 0 ? rest /= factor : ++factor) {
      if (rest % factor != 0) continue;
      LevelLoops& level = mapping.levels[random.below(num_levels)];
      if (random.below(4) == 0) {
        level.spatial.push_back({d, factor, 0});
      } else {
        const auto at = random.below(level.temporal.size() + 1);
        level.temporal.insert(level.temporal.begin() + static_cast<long>(at), {d, factor});
      }
    }
  }
  return mapping;
}

Hierarchy unlimited(const Problem& problem, std::size_t num_levels) {
  Hierarchy hierarchy;
  for (std::size_t l = 0; l < num_levels; ++l) {
    hierarchy.levels.push_back(
        keeping("level", std::vector<bool>(problem.data_spaces.size(), true)));
    hierarchy.levels.back().fan_out = {{1000, {}}};
  }
  return hierarchy;
}

void multiply(const std::vector<MacStep>& steps) {
  for (const MacStep& step : steps) {
    std::int64_t product = 1;
    for (const Numbers* factor : step.factors) product *= factor->front();
    step.sum->resize(1);
    step.sum->front() += product;
  }
}

std::map<Word, std::int64_t> single_numbers(const std::map<Word, Numbers>& words) {
  std::map<Word, std::int64_t> result;
  for (const auto& [word, numbers] : words) result[word] = numbers.front();
  return result;
}

TEST(Accesses, EqualThoseOfAnExecutedNest) {
  Random random(7);
  for (int i = 0; i < 600; ++i) {
    const Problem problem = random_problem(random);
    const std::size_t num_levels = 1 + random.below(4);
    const Mapping mapping = random_mapping(problem, num_levels, random);
    const MappingCosts predicted = evaluate(problem, unlimited(problem, num_levels), mapping);
    const TiledExecution executed(
        problem, mapping, [](std::size_t x, const Word& word) { return Numbers{element(x, word)}; },
        multiply);
    ASSERT_EQ(single_numbers(executed.result()), plain_result(problem)) << "nest " << i;
    for (std::size_t l = 0; l < num_levels; ++l) {
      for (std::size_t x = 0; x < problem.data_spaces.size(); ++x) {
        const SpaceAccesses& found = predicted.levels[l].spaces[x];
        const Counters expected{found.reads, found.fills, found.updates, found.spatial_reductions};
        const auto counters = executed.counters(l, x);
        if (!mapping.levels[l].keeps[x]) {
          EXPECT_EQ(counters.size(), 0U);
          EXPECT_EQ(expected, Counters());
          continue;
        }
        ASSERT_EQ(counters.size(), predicted.levels[l].utilized_instances);
        for (const Counters& counter : counters) {
          ASSERT_EQ(counter.reads, expected.reads) << "nest " << i << " level " << l << ' ' << x;
          ASSERT_EQ(counter.fills, expected.fills) << "nest " << i << " level " << l << ' ' << x;
          ASSERT_EQ(counter, expected) << "nest " << i << " level " << l << ' ' << x;
        }
      }
    }
  }
}

/// A product of 4 x 6 x 8 on a memory and a buffer over six MACs.
struct MeasuredProduct {
  Problem problem = matrix_product(4, 6, 8, {8, 2, 16});
  Hierarchy hierarchy;
  Mapping mapping;

  MeasuredProduct() {
    hierarchy.levels = {keeping("memory", {true, true, true}),
                        keeping("buffer", {true, true, true})};
    hierarchy.levels[1].fan_out = {{6, {}}};
    hierarchy.mac_pj = 0.5;
    mapping.levels = {{{{0, 4}, {2, 2}}, {}, {true, true, true}},
                      {{{2, 4}, {1, 2}}, {{1, 3, 0}}, {true, true, true}}};
  }
  [[nodiscard]] MappingCosts evaluated() const { return evaluate(problem, hierarchy, mapping); }
};

TEST(Accesses, CountBitsOfEachDataSpaceByWholeAccesses) {
  MeasuredProduct given;
  given.hierarchy.levels[0].access_bits = 64;
  given.hierarchy.levels[0].read_pj = 10;
  const MappingCosts found = given.evaluated();
  // 24 weights of 2 bits, 8 times: 6 accesses; 32 inputs of 8 bits once: 4 accesses.
  EXPECT_EQ(found.levels[0].spaces[1].reads, 192U);
  EXPECT_EQ(found.levels[0].spaces[1].energy_pj, 60);
  EXPECT_EQ(found.levels[0].spaces[0].energy_pj, 40);
  EXPECT_EQ(found.levels[0].total_reads(1), 192U);
  EXPECT_EQ(found.levels[1].total_fills(1), 192U);
  EXPECT_EQ(found.levels[0].total_updates(2), 24U);
  EXPECT_EQ(found.mac_energy_pj, 96);
  EXPECT_EQ(found.energy_pj, 96 + 100);
}

TEST(Accesses, TimeIsThatOfTheSlowestLevel) {
  MeasuredProduct given;
  EXPECT_EQ(given.evaluated().compute_cycles, 64U);
  EXPECT_EQ(given.evaluated().cycles, 64);
  EXPECT_EQ(given.evaluated().utilization, 0.5);
  // Inputs 32 x 8, weights 192 x 2 and outputs 24 x 16 bits.
  given.hierarchy.levels[0].bits_per_cycle = 4;
  EXPECT_EQ(given.evaluated().cycles, 256);
  given.hierarchy.levels[1].leakage_pj = 0.25;
  EXPECT_EQ(given.evaluated().levels[1].leakage_pj, 64);
}

TEST(Accesses, NeedAValidMapping) {
  MeasuredProduct given;
  given.mapping.levels[0].temporal.clear();
  expect_error(ErrorKind::kShape, "the bounds of dimension M multiply to 1, its extent is 4",
               [&] { static_cast<void>(given.evaluated()); });
}

}  // namespace
}  // namespace halftone::accel::mapping
