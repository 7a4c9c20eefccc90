// SPDX-License-Identifier: Apache-2.0
// Compares each collective with its definition: over devices, a batch, and several processes.
#include "halftone/spmd/collectives.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "halftone/base/testing.h"
#include "halftone/spmd/map.hpp"
#include "halftone/spmd/testing.h"

namespace halftone::spmd {
namespace {

using testing::ElementsAre;
using testing::NanSensitiveFloatEq;
using testing::Pointwise;

using Function = std::function<Array(const Array&)>;

/// The kind of map that runs the lanes along axis "i".
struct Way {
  const char* name;
  bool is_vmap = false;
  std::vector<std::size_t> devices_of_ranks;
};

class Collectives : public testing::TestWithParam<Way> {
 protected:
  /// Maps f over the rows of x; returns the same on all ranks.
  static Array map(const Function& f, const Array& x) {
    const Way& way = GetParam();
    if (way.is_vmap) return vmap(f, {.axis_name = "i"})(x);
    const auto run = [&](const Devices& devices) {
      return gather(spread(f, {.axis_name = "i", .devices = devices})(x));
    };
    if (way.devices_of_ranks.size() == 1) return run(Devices::emulate(way.devices_of_ranks[0]));
    const std::vector<Array> results =
        LocalRanks(way.devices_of_ranks.size()).run([&](const std::shared_ptr<Transport>& ranks) {
          return run(Devices::over(ranks, way.devices_of_ranks[ranks->rank()]));
        });
    for (const Array& result : results) EXPECT_TRUE(same_bits(result, results.front()));
    return results.front();
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, Collectives,
                         testing::Values(Way{"Vmap", true, {}}, Way{"OneDevice", false, {1}},
                                         Way{"FourDevices", false, {4}},
                                         Way{"ThreeDevices", false, {3}},
                                         Way{"TwoRanks", false, {1, 1}},
                                         Way{"RanksOfTwoAndOne", false, {2, 1}},
                                         Way{"MoreRanksThanLanes", false, {1, 1, 1, 1, 1}}),
                         [](const auto& way) { return way.param.name; });

TEST_P(Collectives, PsumAddsInOneOrder) {
  const Array x = random_array<float>({4, 5}, 1);
  const Array y = map([](const Array& row) { return psum(row, "i"); }, x);
  const auto in = x.as<float>();
  for (std::size_t lane = 0; lane < 4; ++lane) {
    for (std::size_t c = 0; c < 5; ++c) {
      const float sum = (in[c] + in[5 + c]) + (in[10 + c] + in[15 + c]);
      EXPECT_EQ(y.as<float>()[5 * lane + c], sum);
    }
  }
}

TEST_P(Collectives, PsumOfManyElementsIsThatOfEach) {
  constexpr std::size_t kColumns = 40'001;
  const Array x = random_array<double>({4, kColumns}, 2);
  const Array y = map([](const Array& row) { return psum(row, "i"); }, x);
  const auto in = x.as<double>();
  for (const std::size_t c : {std::size_t{0}, std::size_t{8191}, std::size_t{8192}, kColumns - 1}) {
    const double sum = (in[c] + in[kColumns + c]) + (in[2 * kColumns + c] + in[3 * kColumns + c]);
    EXPECT_EQ(y.as<double>()[3 * kColumns + c], sum) << c;
  }
}

TEST_P(Collectives, PmeanDividesTheSum) {
  const Array x = random_array<float>({3, 2}, 3);
  const Array y = map([](const Array& row) { return pmean(row, "i"); }, x);
  const auto in = x.as<float>();
  EXPECT_EQ(y.as<float>()[0], ((in[0] + in[2]) + in[4]) / 3);
  EXPECT_EQ(y.as<float>()[5], ((in[1] + in[3]) + in[5]) / 3);
}

TEST_P(Collectives, PmaxAndPminKeepNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> rows{1, nan, 5, 3, 2, nan, -4, 2, 3};
  const Array x = Array::from<float>({3, 3}, rows);
  const Array most = map([](const Array& row) { return pmax(row, "i"); }, x);
  const Array least = map([](const Array& row) { return pmin(row, "i"); }, x);
  EXPECT_THAT(values<float>(most.slice(0, 1)), Pointwise(NanSensitiveFloatEq(), {3.F, nan, nan}));
  EXPECT_THAT(values<float>(least.slice(0, 2)), Pointwise(NanSensitiveFloatEq(), {-4.F, nan, nan}));
}

TEST_P(Collectives, IntegersWrapAround) {
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  const Array y =
      map([](const Array& row) { return psum(row, "i"); }, Array::of<std::int32_t>({kMax, 1, 1}));
  EXPECT_THAT(y.as<std::int32_t>(), ElementsAre(-kMax, -kMax, -kMax));
}

TEST_P(Collectives, AllGatherStacksAlongAnyAxis) {
  const Array x = Array::range<std::int32_t>({3, 2});
  const Array rows = map([](const Array& row) { return all_gather(row, "i"); }, x);
  EXPECT_EQ(rows.type(), "int32[3, 3, 2]");
  EXPECT_TRUE(same_bits(rows.slice(0, 2), x));
  const Array cols = map([](const Array& row) { return all_gather(row, "i", {.axis = 1}); }, x);
  EXPECT_THAT(values<std::int32_t>(cols.slice(0, 0)), ElementsAre(0, 2, 4, 1, 3, 5));
  const Array tiled =
      map([](const Array& row) { return all_gather(row, "i", {.tiled = true}); }, x);
  EXPECT_EQ(tiled.type(), "int32[3, 6]");
  EXPECT_THAT(values<std::int32_t>(tiled.slice(0, 1)), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_P(Collectives, PsumScatterGivesEachLaneItsPart) {
  const Array x = random_array<float>({3, 3, 2}, 4);
  const Array sums = map([](const Array& row) { return psum(row, "i"); }, x).slice(0, 0);
  const Array parts = map([](const Array& row) { return psum_scatter(row, "i"); }, x);
  EXPECT_TRUE(same_bits(parts, sums));

  const Array wide = random_array<double>({3, 2, 6}, 5);
  const Array wide_sums = map([](const Array& row) { return psum(row, "i"); }, wide).slice(0, 0);
  const Array tiles = map(
      [](const Array& row) { return psum_scatter(row, "i", {.axis = 1, .tiled = true}); }, wide);
  EXPECT_EQ(tiles.type(), "float64[3, 2, 2]");
  for (std::int64_t lane = 0; lane < 3; ++lane) {
    EXPECT_TRUE(same_bits(tiles.slice(0, lane), wide_sums.part(1, 2 * lane, 2)));
  }
}

TEST_P(Collectives, AllToAllTransposesLanesAndEntries) {
  const Array x = Array::range<std::int32_t>({3, 3, 2});
  const Array y = map([](const Array& row) { return all_to_all(row, "i"); }, x);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      EXPECT_TRUE(same_bits(y.slice(0, i).slice(0, j), x.slice(0, j).slice(0, i)));
    }
  }
  const Array cols =
      map([](const Array& row) { return all_to_all(row, "i", {.concat_axis = 1}); }, x);
  EXPECT_EQ(cols.type(), "int32[3, 2, 3]");
  EXPECT_THAT(values<std::int32_t>(cols.slice(0, 1)), ElementsAre(2, 8, 14, 3, 9, 15));
}

TEST_P(Collectives, AllToAllTiledSplitsOneAxisAndJoinsAnother) {
  const Array x = Array::range<std::int32_t>({2, 4, 1});
  const Array y = map(
      [](const Array& row) {
        return all_to_all(row, "i", {.split_axis = 0, .concat_axis = 1, .tiled = true});
      },
      x);
  EXPECT_EQ(y.type(), "int32[2, 2, 2]");
  EXPECT_THAT(y.as<std::int32_t>(), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
}

TEST_P(Collectives, PpermuteSendsAlongPairs) {
  const Array x = Array::range<float>({4, 1});
  const Array shifted = map(
      [](const Array& row) {
        return ppermute(row, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
      },
      x);
  EXPECT_THAT(shifted.as<float>(), ElementsAre(3, 0, 1, 2));
  const Array some = map([](const Array& row) { return ppermute(row, "i", {{3, 0}, {2, 2}}); }, x);
  EXPECT_THAT(some.as<float>(), ElementsAre(3, 0, 2, 0));
}

TEST_P(Collectives, IndexAndSizeNameTheLane) {
  const Array y = map(
      [](const Array&) {
        return Array::scalar(static_cast<std::int64_t>(10 * axis_index("i") + axis_size("i")));
      },
      Array::range<float>({4}));
  EXPECT_THAT(y.as<std::int64_t>(), ElementsAre(4, 14, 24, 34));
}

TEST_P(Collectives, GroupsActWithoutTheOthers) {
  const Groups groups{{0, 3}, {2, 1}};
  const Array x = Array::of<std::int32_t>({1, 2, 4, 8});
  const Array sums = map([&](const Array& row) { return psum(row, "i", groups); }, x);
  EXPECT_THAT(sums.as<std::int32_t>(), ElementsAre(9, 6, 6, 9));
  const Array all =
      map([&](const Array& row) { return all_gather(row, "i", {.groups = groups}); }, x);
  EXPECT_THAT(all.as<std::int32_t>(), ElementsAre(1, 8, 4, 2, 4, 2, 1, 8));
}

TEST_P(Collectives, LanesMayDoWithoutTheOthers) {
  const Groups pairs{{0, 1}, {2, 3}};
  const Array y = map(
      [&](const Array& x) {
        Array sum = x;
        const std::size_t rounds = axis_index("i") < 2 ? 1 : 4;
        for (std::size_t r = 0; r < rounds; ++r) sum = psum(sum, "i", pairs);
        return psum(sum, "i");
      },
      Array::of<std::int32_t>({1, 1, 1, 1}));
  EXPECT_THAT(y.as<std::int32_t>(), ElementsAre(36, 36, 36, 36));
}

TEST_P(Collectives, ActOnEveryLeafOfATree) {
  const Array y = map(
      [](const Array& x) {
        const auto [a, b] = psum(std::pair(x, Array::scalar(2.0)), "i");
        const auto nothing = psum(std::vector<Array>(), "i");
        EXPECT_TRUE(nothing.empty());
        EXPECT_EQ(b.item<double>(), 2.0 * static_cast<double>(axis_size("i")));
        return a;
      },
      Array::range<float>({3}));
  EXPECT_THAT(y.as<float>(), ElementsAre(3, 3, 3));
}

TEST_P(Collectives, OfNoElementsGiveNone) {
  const Array x = Array::range<float>({3, 0});
  const auto sum = [](const Array& row) { return psum(row, "i"); };
  const auto all = [](const Array& row) { return all_gather(row, "i"); };
  EXPECT_EQ(map(sum, x).type(), "float32[3, 0]");
  EXPECT_EQ(map(all, x).type(), "float32[3, 3, 0]");
}

// 2, 3 and 4 devices and 2 and 3 ranks give the same bits as one device.
TEST(Sums, AreTheSameBitsForAnyDevicesAndRanks) {
  const Array x = random_array<double>({13, 700}, 6);
  const auto f = [](const Array& row) {
    return std::tuple(psum(row, "i"), pmean(row, "i"), pmax(row, "i"));
  };
  const auto on = [&](const Devices& devices) {
    return gather(spread(f, {.axis_name = "i", .devices = devices})(x));
  };
  const auto wanted = vmap(f, {.axis_name = "i"})(x);
  const auto expect_same = [&](const auto& found) {
    EXPECT_TRUE(same_bits(std::get<0>(found), std::get<0>(wanted)));
    EXPECT_TRUE(same_bits(std::get<1>(found), std::get<1>(wanted)));
    EXPECT_TRUE(same_bits(std::get<2>(found), std::get<2>(wanted)));
  };
  for (const std::size_t count : {1u, 2u, 3u, 4u, 13u, 20u})
    expect_same(on(Devices::emulate(count)));
  for (const std::size_t count : {2u, 3u, 4u}) {
    for (const auto& found : LocalRanks(count).run([&](const std::shared_ptr<Transport>& ranks) {
           return on(Devices::over(ranks, 1 + ranks->rank() % 2));
         })) {
      expect_same(found);
    }
  }
}

}  // namespace
}  // namespace halftone::spmd
