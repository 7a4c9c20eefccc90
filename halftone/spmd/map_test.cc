// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/map.hpp"

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/testing.h"

namespace halftone::spmd {
namespace {

using testing::ElementsAre;

Array added(const Array& a, const Array& b) {
  return Array::make<float>(a.shape(), [&](std::span<float> y) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = a.as<float>()[i] + b.as<float>()[i];
  });
}

Array index_of(const std::string& axis) {
  return Array::scalar(static_cast<std::int64_t>(axis_index(axis)));
}

TEST(Vmap, SplitsArgumentsAndStacksResults) {
  const Array x = Array::range<float>({3, 2});
  EXPECT_THAT(vmap(added)(x, x).as<float>(), ElementsAre(0, 2, 4, 6, 8, 10));
  const Array columns = vmap(added, {.in_axes = {1, 1}})(x, x);
  EXPECT_EQ(columns.type(), "float32[2, 3]");
  EXPECT_THAT(columns.as<float>(), ElementsAre(0, 4, 8, 2, 6, 10));
  const Array again = vmap(added, {.in_axes = {1, 1}, .out_axes = 1})(x, x);
  EXPECT_THAT(again.as<float>(), ElementsAre(0, 2, 4, 6, 8, 10));
}

TEST(Vmap, GivesEveryLaneWhatIsNotSplit) {
  const Array x = Array::range<float>({3, 2});
  const Array y = vmap(added, {.in_axes = {0, none}})(x, Array::of({10.F, 20.F}));
  EXPECT_THAT(y.as<float>(), ElementsAre(10, 21, 12, 23, 14, 25));
}

TEST(Vmap, PassesWhatIsNoTree) {
  const auto scaled = [](const Array& x, float factor, const std::string& name) {
    EXPECT_EQ(name, "ten");
    return Array::scalar(factor * x.item<float>());
  };
  EXPECT_THAT(vmap(scaled)(Array::of({1.F, 2.F}), 10.F, std::string("ten")).as<float>(),
              ElementsAre(10, 20));
}

TEST(Vmap, TakesAndReturnsTrees) {
  const AffineMap lines{Array::of({1.F, 2.F}), Array::of({10.F, 20.F})};
  const auto swap = [](const AffineMap& line, const std::vector<Array>& more) {
    return std::tuple(AffineMap{line.offset, line.slope}, more.at(1));
  };
  const auto [swapped, second] =
      vmap(swap)(lines, std::vector{Array::of({0.F, 0.F}), Array::of({7, 8})});
  EXPECT_THAT(swapped.slope.as<float>(), ElementsAre(10, 20));
  EXPECT_THAT(swapped.offset.as<float>(), ElementsAre(1, 2));
  EXPECT_THAT(second.as<std::int32_t>(), ElementsAre(7, 8));
}

TEST(Vmap, NeedsNoArgumentsButASize) {
  const auto f = [] { return index_of("i"); };
  EXPECT_THAT(vmap(f, {.axis_name = "i", .axis_size = 3})().as<std::int64_t>(),
              ElementsAre(0, 1, 2));
}

TEST(Vmap, WithoutCollectivesIsALoopOnTheCallersThread) {
  std::vector<std::thread::id> threads;
  vmap([&](const Array&) { threads.push_back(std::this_thread::get_id()); })(
      Array::range<float>({50}));
  ASSERT_EQ(threads.size(), 50u);
  for (const auto id : threads) EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(Vmap, RunsOneLaneAtATime) {
  std::atomic<int> running = 0;
  vmap(
      [&](const Array& x) {
        for (int round = 0; round < 20; ++round) {
          EXPECT_EQ(++running, 1);
          std::this_thread::yield();
          --running;
          psum(x, "i");
        }
      },
      {.axis_name = "i"})(Array::range<float>({8}));
}

TEST(Pmap, RunsLanesAtOnce) {
  const Devices devices = Devices::emulate(3);
  std::atomic<int> here = 0;
  pmap(
      [&](const Array&) {
        ++here;
        while (here < 3) std::this_thread::yield();
      },
      {.devices = devices})(Array::range<float>({3}));
  EXPECT_EQ(here, 3);
}

TEST(Pmap, ResultsStayWhereTheyWereComputed) {
  const Devices devices = Devices::emulate(4);
  const auto f = pmap([](const Array& x) { return added(x, x); }, {.devices = devices});
  const Sharded<Array> once = f(Array::range<float>({4, 2}));
  std::vector<const std::byte*> given(4);
  const auto watch = pmap(
      [&](const Array& x) {
        given[axis_index("i")] = x.bytes().data();
        return x;
      },
      {.axis_name = "i", .devices = devices});
  const Sharded<Array> twice = watch(once);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(given[i], once.at(i).bytes().data());
    EXPECT_EQ(twice.at(i).bytes().data(), once.at(i).bytes().data());
  }
  EXPECT_THAT(gather(twice).as<float>(), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
}

TEST(Pmap, GathersAlongOutAxes) {
  const auto f = pmap([](const Array& x) { return x; },
                      {.in_axes = {1}, .out_axes = 1, .devices = Devices::emulate(3)});
  const Array x = Array::range<float>({2, 3});
  EXPECT_TRUE(same_bits(gather(f(x)), x));
}

TEST(Pmap, TakesShardsMadeOfAWhole) {
  const Devices devices = Devices::emulate(3);
  const Array x = Array::range<float>({2, 3});
  const Sharded<Array> columns = shard(x, devices, 1);
  EXPECT_THAT(columns.at(2).as<float>(), ElementsAre(2, 5));
  const auto f =
      pmap([](const Array& v) { return added(v, v); }, {.in_axes = {1}, .devices = devices});
  EXPECT_THAT(gather(f(columns)).as<float>(), ElementsAre(0, 6, 2, 8, 4, 10));
}

TEST(Spread, TakesMoreLanesThanDevicesAndFewer) {
  for (const std::size_t count : {1u, 2u, 3u, 7u, 12u}) {
    const auto f = spread([] { return index_of("i"); },
                          {.axis_name = "i", .axis_size = 7, .devices = Devices::emulate(count)});
    EXPECT_THAT(gather(f()).as<std::int64_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 6)) << count;
  }
}

TEST(SpreadSum, HasTheBitsOfPsum) {
  const Array x = random_array<double>({11, 30}, 1);
  const auto psums = vmap([](const Array& row) { return psum(row, "i"); }, {.axis_name = "i"});
  const Array wanted = psums(x).slice(0, 0);
  const auto identity = [](const Array& row) { return std::pair(row, row); };
  for (const std::size_t count : {1u, 2u, 3u, 4u, 16u}) {
    const auto [sum, same] = spread_sum(identity, {.devices = Devices::emulate(count)})(x);
    EXPECT_TRUE(same_bits(sum, wanted)) << count;
    EXPECT_TRUE(same_bits(same, wanted)) << count;
  }
}

TEST(SpreadSum, HoldsFewResultsAtOnce) {
  std::atomic<int> alive = 0;
  std::atomic<int> most = 0;
  const auto f = spread_sum(
      [&] {
        most = std::max(most.load(), ++alive);
        auto numbers = std::shared_ptr<std::vector<float>>(new std::vector<float>(4), [&](auto* v) {
          --alive;
          delete v;
        });
        return Array::wrap<float>({4}, *numbers, numbers);
      },
      {.axis_size = 256, .devices = Devices::emulate(1)});
  EXPECT_THAT(f().as<float>(), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(alive, 0);
  EXPECT_LE(most, 3);
}

// Indices of both axes in every nesting order; lanes are numbered with the outer axis first.
TEST(Nesting, GoesInAnyOrder) {
  const auto f = [] {
    return Array::scalar(static_cast<std::int64_t>(100 * axis_index({"outer", "inner"}) +
                                                   10 * axis_index("outer") + axis_index("inner")));
  };
  const Devices devices = Devices::emulate(6);
  const MapOptions outer{.axis_name = "outer", .axis_size = 2};
  const MapOptions inner{.axis_name = "inner", .axis_size = 3};
  MapOptions outer_on = outer;
  outer_on.devices = devices;
  MapOptions inner_on = inner;
  inner_on.devices = devices;
  const auto wanted = ElementsAre(0, 101, 202, 310, 411, 512);
  EXPECT_THAT(values<std::int64_t>(vmap(vmap(f, inner), outer)()), wanted);
  EXPECT_THAT(values<std::int64_t>(gather(pmap(vmap(f, inner), outer_on)())), wanted);
  EXPECT_THAT(values<std::int64_t>(gather(vmap(pmap(f, inner_on), outer)())), wanted);
  EXPECT_THAT(values<std::int64_t>(gather(pmap(pmap(f, inner), outer_on)())), wanted);
  EXPECT_THAT(values<std::int64_t>(gather(spread(spread(f, inner), outer_on)())), wanted);
}

TEST(Nesting, CollectivesReachAnyAxesFromInside) {
  const Array x = random_array<float>({3, 4, 5}, 2);
  const auto f = [](const Array& v) {
    return std::tuple(psum(v, "outer"), psum(v, "inner"), psum(v, {"inner", "outer"}),
                      psum(psum(v, "inner"), "outer"));
  };
  const MapOptions inner{.axis_name = "inner"};
  const MapOptions outer{.axis_name = "outer"};
  const auto [by_outer, by_inner, by_both, in_turn] = vmap(vmap(f, inner), outer)(x);
  const auto flat =
      vmap([](const Array& v) { return psum(v, "i"); }, {.axis_name = "i"})(x.reshaped({12, 5}));
  EXPECT_TRUE(same_bits(by_both.reshaped({12, 5}), flat));
  const Array columns = x.slice(1, 2);
  EXPECT_TRUE(same_bits(
      by_outer.slice(1, 2).slice(0, 0),
      vmap([](const Array& v) { return psum(v, "i"); }, {.axis_name = "i"})(columns).slice(0, 0)));
  EXPECT_FALSE(same_bits(by_inner.slice(0, 0), by_inner.slice(0, 1)));

  for (const std::size_t count : {3u, 7u, 12u}) {
    MapOptions on = outer;
    on.devices = Devices::emulate(count);
    const auto found = gather(pmap(vmap(f, inner), on)(x));
    EXPECT_TRUE(same_bits(std::get<0>(found), by_outer));
    EXPECT_TRUE(same_bits(std::get<1>(found), by_inner));
    EXPECT_TRUE(same_bits(std::get<2>(found), by_both));
    EXPECT_TRUE(same_bits(std::get<3>(found), in_turn));
  }
  MapOptions inner_on = inner;
  inner_on.devices = Devices::emulate(4);
  const auto turned = gather(vmap(pmap(f, inner_on), outer)(x));
  EXPECT_TRUE(same_bits(std::get<2>(turned), by_both));
  EXPECT_TRUE(same_bits(std::get<0>(turned), by_outer));
}

TEST(Nesting, ShardsOfShardsMoveNothing) {
  const Devices devices = Devices::emulate(6);
  const auto f = [](const Array& x) { return x; };
  const auto nest = pmap(pmap(f), {.devices = devices});
  const auto once = nest(Array::range<float>({2, 3, 4}));
  const auto twice = nest(once);
  EXPECT_EQ(twice.at(1).at(2).bytes().data(), once.at(1).at(2).bytes().data());
  EXPECT_TRUE(same_bits(gather(twice), Array::range<float>({2, 3, 4})));
}

TEST(Nesting, BatchesOfShardsMoveNothing) {
  const auto f = [](const Array& x) { return x; };
  const auto nest = vmap(pmap(f, {.devices = Devices::emulate(3)}));
  const Sharded<Array> once = nest(Array::range<float>({2, 3, 4}));
  EXPECT_EQ(once.axis().axis, 1u);
  EXPECT_TRUE(same_bits(gather(once), Array::range<float>({2, 3, 4})));
  EXPECT_TRUE(same_bits(gather(nest(once)), gather(once)));
}

TEST(Nesting, DividesTheDevices) {
  const Devices devices = Devices::emulate(5);
  const auto f = pmap(
      [] {
        return pmap([] { return index_of("inner"); }, {.axis_name = "inner", .axis_size = 2})();
      },
      {.axis_size = 2, .devices = devices});
  const auto results = f();
  EXPECT_EQ(results.placement().devices_of(0).size(), 2u);
  EXPECT_EQ(results.placement().devices_of(1).size(), 3u);
  EXPECT_THAT(gather(results).as<std::int64_t>(), ElementsAre(0, 1, 0, 1));
}

// Ranks run the lanes of their own devices, and all lanes of a vmap around them.
TEST(Nesting, GoesOverRanks) {
  const Array x = random_array<float>({3, 4, 5}, 3);
  const auto f = [](const Array& v) {
    return std::tuple(psum(v, "outer"), psum(v, "inner"), psum(v, {"inner", "outer"}),
                      index_of("inner"));
  };
  const MapOptions inner{.axis_name = "inner"};
  const MapOptions outer{.axis_name = "outer"};
  const Flat wanted = flatten(vmap(vmap(f, inner), outer)(x));
  const auto expect_wanted = [&](const Flat& found) {
    ASSERT_EQ(found.leaves.size(), wanted.leaves.size());
    for (std::size_t l = 0; l < wanted.leaves.size(); ++l) {
      EXPECT_TRUE(same_bits(found.leaves[l], wanted.leaves[l])) << l;
    }
  };
  LocalRanks(2).run([&](const std::shared_ptr<Transport>& ranks) {
    MapOptions outer_on = outer;
    outer_on.devices = Devices::over(ranks, 2);
    MapOptions inner_on = inner;
    inner_on.devices = outer_on.devices;
    expect_wanted(flatten(gather(pmap(vmap(f, inner), outer_on)(x))));
    expect_wanted(flatten(gather(spread(spread(f, inner), outer_on)(x))));
    expect_wanted(flatten(gather(vmap(pmap(f, inner_on), outer)(x))));
    return 0;
  });
}

TEST(SpreadSum, HasTheSameBitsOverRanks) {
  const Array x = random_array<double>({11, 5000}, 4);
  const auto identity = [](const Array& row) { return std::vector{row, row.part(0, 0, 3)}; };
  const auto wanted = spread_sum(identity, {.devices = Devices::emulate(1)})(x);
  for (const std::size_t count : {2u, 3u, 13u}) {
    for (const auto& found : LocalRanks(count).run([&](const std::shared_ptr<Transport>& ranks) {
           return spread_sum(identity, {.devices = Devices::over(ranks)})(x);
         })) {
      ASSERT_EQ(found.size(), 2u);
      EXPECT_TRUE(same_bits(found[0], wanted[0])) << count;
      EXPECT_TRUE(same_bits(found[1], wanted[1])) << count;
    }
  }
}

TEST(Nesting, MapsOfOneLaneFollowEachOther) {
  const auto f = [](const Array& x) {
    Array sum = x;
    for (int round = 0; round < 3; ++round) {
      sum = vmap(
                [&](const Array&) {
                  return psum(sum, {"outer", "inner"});
                },
                {.axis_name = "inner"})(Array::range<float>({2}))
                .slice(0, 0);
    }
    return sum;
  };
  const Array y = vmap(f, {.axis_name = "outer"})(Array::of({1.F, 2.F}));
  EXPECT_THAT(y.as<float>(), ElementsAre(96, 96));
}

TEST(Devices, ShareTheThreadsOfLoops) {
  set_num_threads(6);
  std::atomic<int> seen = 0;
  pmap([&](const Array&) { seen += num_threads(); },
       {.devices = Devices::emulate(2)})(Array::range<float>({2}));
  EXPECT_EQ(seen, 6);
  set_num_threads(0);
}

}  // namespace
}  // namespace halftone::spmd
