// SPDX-License-Identifier: Apache-2.0
// Errors have clear messages, reach the caller, and leave no lane waiting.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "halftone/base/testing.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"
#include "halftone/spmd/testing.h"

namespace halftone::spmd {
namespace {

using testing::HasSubstr;

const Array kFour = Array::range<float>({4});

/// Checks the error of spread(f) over 4 lanes of axis "i": over devices of one process, and on each
/// of several processes.
/// @param text  a part of the message that is expected on given devices
template <typename Text, typename F>
void expect_on_devices(ErrorKind kind, const Text& text, const F& f) {
  const auto check = [&](const Devices& devices) {
    const MapOptions options{.axis_name = "i", .devices = devices};
    expect_error(kind, text(devices), [&] { spread(f, options)(kFour); });
  };
  for (const std::size_t count : {1u, 2u, 4u}) check(Devices::emulate(count));
  for (const std::size_t count : {2u, 3u, 5u}) {
    std::atomic<std::size_t> failed = 0;
    LocalRanks(count).run([&](const std::shared_ptr<Transport>& ranks) {
      check(Devices::over(ranks));
      ++failed;
      return 0;
    });
    EXPECT_EQ(failed, count);
  }
}

template <typename F>
void expect_everywhere(ErrorKind kind, const std::string& text, const F& f) {
  expect_on_devices(
      kind, [&](const Devices&) { return text; }, f);
}

/// The same for an error of one of the lanes, whose device the message gives.
template <typename F>
void expect_of_lane(ErrorKind kind, std::size_t lane, const std::string& text, const F& f) {
  const auto with_device = [&](const Devices& devices) {
    if (devices.size() == 1) return text;
    const std::size_t device = lane * devices.size() / 4;
    const std::string rank =
        devices.spans_ranks() ? " (rank " + std::to_string(devices.rank_of(device)) + ")" : "";
    return "on device " + std::to_string(device + 1) + " of " + std::to_string(devices.size()) +
           rank + ": " + text;
  };
  expect_on_devices(kind, with_device, f);
}

TEST(LaneErrors, ReachTheCallerWithTheDeviceAndStopTheOthers) {
  expect_of_lane(ErrorKind::kIo, 2, "broken", [](const Array& x) {
    if (axis_index("i") == 2) fail(ErrorKind::kIo, "broken");
    return psum(x, "i");
  });
}

TEST(LaneErrors, KeepTheirHint) {
  const auto f = [](const Array& x) {
    if (axis_index("i") == 1) fail(ErrorKind::kFormat, "too bright", Hint::kScale);
    return psum(x, "i");
  };
  const auto hint_on = [&](const Devices& devices) {
    try {
      spread(f, {.axis_name = "i", .devices = devices})(kFour);
    } catch (const Error& error) {
      return error.hint();
    }
    return Hint::kNone;
  };
  EXPECT_EQ(hint_on(Devices::emulate(1)), Hint::kScale);
  EXPECT_EQ(hint_on(Devices::emulate(4)), Hint::kScale);
  LocalRanks(2).run([&](const std::shared_ptr<Transport>& ranks) {
    EXPECT_EQ(hint_on(Devices::over(ranks)), Hint::kScale);
    return 0;
  });
}

TEST(LaneErrors, OfSeveralTheFirstLanesIsTold) {
  expect_of_lane(ErrorKind::kIo, 1, "1", [](const Array& x) {
    const std::size_t i = axis_index("i");
    if (i == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (i != 0) fail(ErrorKind::kIo, std::to_string(i));
    return psum(x, "i");
  });
}

TEST(LaneErrors, AfterTheLastCollectiveReachEveryRank) {
  expect_of_lane(ErrorKind::kIo, 3, "late", [](const Array& x) {
    const Array sum = psum(x, "i");
    if (axis_index("i") == 3) fail(ErrorKind::kIo, "late");
    return sum;
  });
}

TEST(LaneErrors, OfMissingMemoryAreTold) {
  expect_of_lane(ErrorKind::kMemory, 3, "out of memory", [](const Array& x) {
    if (axis_index("i") == 3) throw std::bad_alloc();
    return x;
  });
}

/// Checks that lane 1 of 4 throws what the caller of the map catches in that process, and that
/// other processes get its text.
template <typename Exception, typename F>
void expect_as_thrown(const std::string& text, const F& f) {
  const auto run = [&](const Devices& devices) {
    spread(f, {.axis_name = "i", .devices = devices})(kFour);
  };
  for (const std::size_t count : {1u, 2u, 4u}) {
    EXPECT_THROW(run(Devices::emulate(count)), Exception);
  }
  LocalRanks(2).run([&](const std::shared_ptr<Transport>& ranks) {
    const Devices devices = Devices::over(ranks);
    if (ranks->rank() == 0) {
      EXPECT_THROW(run(devices), Exception);
    } else {
      expect_error(ErrorKind::kInternal, "on device 1 of 2 (rank 0): " + text,
                   [&] { run(devices); });
    }
    return 0;
  });
}

TEST(LaneErrors, OfTheCallersOwnTypesStayAsTheyAre) {
  expect_as_thrown<std::range_error>("not ours", [](const Array& x) {
    if (axis_index("i") == 1) throw std::range_error("not ours");
    return psum(x, "i");
  });
  expect_as_thrown<int>("an exception of unknown type", [](const Array& x) {
    if (axis_index("i") == 1) throw 5;
    return x;
  });
}

TEST(LaneErrors, OfMapsInsideMapsStayAsTheyAre) {
  const auto inner = vmap(
      [](const Array& x) {
        if (axis_index({"i", "j"}) == 5) throw std::range_error("five");
        return psum(x, {"i", "j"});
      },
      {.axis_name = "j"});
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(2)};
  EXPECT_THROW(pmap(inner, options)(Array::range<float>({2, 4})), std::range_error);
}

TEST(LaneErrors, NameTheDeviceOfTheInnermostMapThatHasSeveral) {
  const auto inner = vmap(
      [](const Array& x) {
        if (axis_index({"i", "j"}) == 5) fail(ErrorKind::kIo, "five");
        return psum(x, {"i", "j"});
      },
      {.axis_name = "j"});
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(2)};
  expect_error(ErrorKind::kIo, "on device 2 of 2: five", [&] {
    pmap(inner, options)(Array::range<float>({2, 4}));
  });
  const MapOptions unnamed{.devices = Devices::emulate(2)};
  expect_error(ErrorKind::kIo, "on device 1 of 2: unnamed", [&] {
    pmap([](const Array&) { fail(ErrorKind::kIo, "unnamed"); }, unnamed)(Array::range<float>({2}));
  });
}

/// The message of the error that a function throws.
template <typename F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(LaneErrors, HaveNoPrefixOnOneDevice) {
  const auto f = vmap([](const Array&) { fail(ErrorKind::kIo, "alone"); }, {.axis_name = "i"});
  EXPECT_EQ(message_of([&] { f(kFour); }), "alone");
}

TEST(LaneErrors, HaveNoPrefixIfTheyAreMistakesOfTheUser) {
  for (const ErrorKind kind : {ErrorKind::kUsage, ErrorKind::kFormat, ErrorKind::kUnsupported,
                               ErrorKind::kShape, ErrorKind::kInterrupted}) {
    const auto f = pmap([kind](const Array&) { fail(kind, "mistake"); },
                        {.axis_name = "i", .devices = Devices::emulate(4)});
    EXPECT_EQ(message_of([&] { f(kFour); }), "mistake");
  }
}

TEST(LaneErrors, PassHandlersInsideTheFunction) {
  std::atomic<int> handled = 0;
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(4)};
  expect_error(ErrorKind::kIo, "on device 4 of 4: first", [&] {
    pmap(
        [&](const Array& x) {
          if (axis_index("i") == 3) fail(ErrorKind::kIo, "first");
          try {
            return psum(x, "i");
          } catch (const std::exception&) {
            ++handled;
            return x;
          }
        },
        options)(kFour);
  });
  EXPECT_EQ(handled, 0);
}

TEST(LaneErrors, LeaveTheDevicesUsable) {
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(4)};
  const auto f = [](const Array& x, bool breaks) {
    if (breaks && axis_index("i") == 1) fail(ErrorKind::kIo, "once");
    return psum(x, "i");
  };
  for (int round = 0; round < 20; ++round) {
    expect_error(ErrorKind::kIo, "once", [&] { pmap(f, options)(kFour, true); });
    EXPECT_EQ(gather(pmap(f, options)(kFour, false)).as<float>()[0], 6);
  }
}

TEST(LaneErrors, KeepLanesThatHaveNotBegunFromBeginning) {
  std::atomic<int> begun = 0;
  expect_error(ErrorKind::kIo, "stop", [&] {
    vmap(
        [&](const Array&) {
          ++begun;
          if (axis_index("i") == 1) fail(ErrorKind::kIo, "stop");
        },
        {.axis_name = "i"})(Array::range<float>({100}));
  });
  EXPECT_EQ(begun, 2);
}

TEST(Stuck, ALaneThatEndsWithoutTheCollectiveIsNamed) {
  expect_everywhere(ErrorKind::kUsage, " waits for i=2, which ended without it",
                    [](const Array& x) { return axis_index("i") == 2 ? x : psum(x, "i"); });
}

TEST(Stuck, IsDetectedWhileOthersStillRun) {
  std::atomic<bool> is_over = false;
  const auto f = [&](const Array& x) {
    const std::size_t i = axis_index("i");
    if (i == 2) {
      while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    try {
      return i == 1 ? x : psum(x, "i");
    } catch (...) {
      is_over = true;
      throw;
    }
  };
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(4)};
  expect_error(ErrorKind::kUsage, "waits for i=1, which ended without it",
               [&] { pmap(f, options)(kFour); });
}

TEST(Stuck, LanesInDifferentCollectivesAreNamed) {
  expect_everywhere(ErrorKind::kUsage, "which waits in p", [](const Array& x) {
    return axis_index("i") == 3 ? pmax(x, "i") : psum(x, "i");
  });
}

TEST(Stuck, ShapesThatDifferAreNamed) {
  expect_everywhere(ErrorKind::kUsage, "of float32[1]", [](const Array&) {
    return psum(Array::range<float>({axis_index("i") == 1 ? 2 : 1}), "i").slice(0, 0);
  });
}

TEST(Stuck, WaitingInACircleIsNamed) {
  const auto f = vmap(
      [](const Array& x) {
        return axis_index({"i", "j"}) % 3 == 0 ? psum(psum(x, "i"), "j") : psum(psum(x, "j"), "i");
      },
      {.axis_name = "j"});
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(2)};
  for (int round = 0; round < 10; ++round) {
    expect_error(ErrorKind::kUsage, ", which waits in psum over '", [&] {
      pmap(f, options)(Array::range<float>({2, 2}));
    });
  }
}

TEST(Stuck, ALaneAroundTheMissingOnesIsNamed) {
  const auto f = [](const Array& x) {
    if (axis_index("i") == 0) return psum(x, "i");
    return vmap([](const Array& v) { return psum(v, {"i", "j"}); }, {.axis_name = "j"})(x);
  };
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(2)};
  expect_error(ErrorKind::kUsage, ", which waits in psum over 'i'", [&] {
    pmap(f, options)(Array::range<float>({2, 3}));
  });
}

TEST(Axes, UnknownAndDoubledNamesAreRefused) {
  expect_everywhere(ErrorKind::kUsage, "psum: there is no axis 'x'; mapped axes: 'i'",
                    [](const Array& x) { return psum(x, "x"); });
  expect_everywhere(ErrorKind::kUsage, "psum: axis 'i' is named twice", [](const Array& x) {
    return psum(x, {"i", "i"});
  });
  expect_everywhere(ErrorKind::kUsage, "psum: expected at least one axis, found none",
                    [](const Array& x) { return psum(x, std::initializer_list<std::string>{}); });
  expect_everywhere(ErrorKind::kUsage, "vmap 'i': an enclosing map already uses the axis name 'i'",
                    [](const Array&) {
                      return vmap([](const Array& v) { return v; }, {.axis_name = "i"})(kFour);
                    });
  expect_error(ErrorKind::kUsage, "psum: there is no axis 'i'; no axis is mapped here",
               [] { psum(kFour, "i"); });
  expect_error(ErrorKind::kUsage, "axis_index: there is no axis ''",
               [] { vmap([](const Array&) { axis_index(""); })(kFour); });
  expect_error(ErrorKind::kUsage, "axis_size: there is no axis 'i'", [] { axis_size("i"); });
}

TEST(Groups, ThatAreNoPartitionAreRefused) {
  const auto with = [](const Groups& groups) {
    return [groups](const Array& x) { return psum(x, "i", groups); };
  };
  expect_everywhere(ErrorKind::kUsage, "psum over 'i': groups contain 2 of 4 lanes",
                    with({{0, 1}}));
  expect_everywhere(ErrorKind::kUsage, "index 4 is in two groups or not below 4",
                    with({{0, 1}, {2, 4}}));
  expect_everywhere(ErrorKind::kUsage, "index 1 is in two groups", with({{0, 1}, {1, 3}}));
  expect_everywhere(ErrorKind::kUsage, "expected groups of equal size, found 1 and 3 lanes",
                    with({{0}, {1, 2, 3}}));
  const auto f = vmap(
      [](const Array& x) {
        return psum(x, {"i", "j"}, {{0}});
      },
      {.axis_name = "j"});
  expect_error(ErrorKind::kUsage, "groups need exactly one axis", [&] {
    vmap(f, {.axis_name = "i"})(Array::range<float>({2, 2}));
  });
}

TEST(Arguments, OfCollectivesThatDoNotFitAreRefused) {
  expect_everywhere(ErrorKind::kUsage, "expected floating-point values for a mean, found integers",
                    [](const Array&) {
                      return pmean(Array::of({1, 2}), "i");
                    });
  expect_everywhere(ErrorKind::kShape,
                    "psum_scatter over 'i' of float32[3] along axis 0: an extent of 3 cannot be "
                    "divided among 4 lanes",
                    [](const Array&) { return psum_scatter(Array::range<float>({3}), "i"); });
  expect_everywhere(
      ErrorKind::kShape, "an extent of 6 cannot be divided among 4",
      [](const Array&) { return all_to_all(Array::range<float>({6}), "i", {.tiled = true}); });
  expect_everywhere(ErrorKind::kShape, "float32[] has no such axis",
                    [](const Array& x) { return psum_scatter(x, "i"); });
  expect_everywhere(ErrorKind::kShape, "the new axis is out of range",
                    [](const Array& x) { return all_gather(x, "i", {.axis = 1}); });
  expect_everywhere(
      ErrorKind::kShape, "the axis of concatenation is out of range",
      [](const Array&) { return all_to_all(Array::range<float>({4}), "i", {.concat_axis = 1}); });
  expect_everywhere(ErrorKind::kUsage, "ppermute over 'i' of float32[] 0>1 2>1: 2>1 is outside",
                    [](const Array& x) {
                      return ppermute(x, "i", {{0, 1}, {2, 1}});
                    });
  expect_everywhere(ErrorKind::kUsage, "0>4 is outside the 4 lanes", [](const Array& x) {
    return ppermute(x, "i", {{0, 4}});
  });
}

TEST(Arguments, OfMapsThatDoNotFitAreRefused) {
  const auto f = [](const auto&...) {};
  const Array three = Array::range<float>({3, 2});
  const MapOptions on_two{.axis_name = "i", .devices = Devices::emulate(2)};
  expect_error(ErrorKind::kShape, "vmap: number of lanes: 3 from argument 0, 4 from argument 1",
               [&] { vmap(f)(three, kFour); });
  expect_error(ErrorKind::kShape, "vmap: number of lanes: 7 from axis_size, 3 from argument 0",
               [&] { vmap(f, {.axis_size = 7})(three); });
  expect_error(
      ErrorKind::kUsage,
      "pmap 'i': 3 lanes, but only 2 devices; use spread() or an inner vmap for more lanes",
      [&] { pmap(f, on_two)(three); });
  expect_error(ErrorKind::kShape, "argument 0: expected at least one lane, found 0", [&] {
    pmap(f, on_two)(Array::range<float>({0, 2}));
  });
  expect_error(ErrorKind::kShape, "axis_size: expected at least one lane",
               [&] { vmap(f, {.axis_size = 0})(); });
  expect_error(ErrorKind::kShape, "vmap: argument 0: float32[4] has no axis 1",
               [&] { vmap(f, {.in_axes = {1}})(kFour); });
  expect_error(ErrorKind::kUsage, "vmap: 2 in_axes for 1 arguments", [&] {
    vmap(f, {.in_axes = {0, none}})(kFour);
  });
  expect_error(ErrorKind::kUsage, "vmap: all in_axes are none; give axis_size",
               [&] { vmap(f, {.in_axes = {none}})(kFour); });
  expect_error(ErrorKind::kUsage, "pmap: no devices; give them in the options",
               [&] { pmap(f)(kFour); });
  expect_error(ErrorKind::kUsage, "a map inside a lane uses the devices of the lane",
               [&] { pmap(pmap(f, on_two), {.devices = Devices::emulate(3)})(three); });
  expect_error(ErrorKind::kUsage, "pmap: 2 lanes, but only 1 devices",
               [&] { pmap(pmap(f), {.devices = Devices::emulate(3)})(three); });
  for (const std::size_t count : {0u, 5000u}) {
    expect_error(ErrorKind::kUsage, "devices: expected 1 to 4096",
                 [&] { Devices::emulate(count); });
  }
}

TEST(Results, ThatDifferAreRefused) {
  const auto f = [] { return Array::range<float>({axis_index("i") == 2 ? 3 : 4}); };
  expect_error(ErrorKind::kShape, "lane 0 returned float32[4], lane 2 float32[3]",
               [&] { vmap(f, {.axis_name = "i", .axis_size = 4})(); });
  const MapOptions options{.axis_name = "i", .axis_size = 4, .devices = Devices::emulate(4)};
  expect_error(ErrorKind::kShape, "gather: results differ: lane 0 returned float32[4], lane 2",
               [&] { gather(pmap(f, options)()); });
  expect_error(ErrorKind::kShape, "lanes returned different types: float32[",
               [&] { spread_sum(f, options)(); });
}

TEST(Shards, ThatLieElsewhereAreRefused) {
  const auto f = [](const Array& x) { return x; };
  const Devices two = Devices::emulate(2);
  const Sharded<Array> shards = pmap(f, {.devices = two})(Array::of({1.F, 2.F}));
  expect_error(ErrorKind::kUsage, "argument 0 is sharded over other devices; gather it first",
               [&] { pmap(f, {.devices = Devices::emulate(2)})(shards); });
  expect_error(ErrorKind::kUsage, "argument 0 is sharded along axis 0, in_axes says 1",
               [&] { pmap(f, {.in_axes = {1}, .devices = two})(shards); });
  expect_error(ErrorKind::kUsage, "in_axes says none",
               [&] { pmap(f, {.in_axes = {none}, .axis_size = 2, .devices = two})(shards); });
  expect_error(ErrorKind::kUsage, "shard 2 of 2 does not exist or is on another rank",
               [&] { static_cast<void>(shards.at(2)); });
  expect_error(ErrorKind::kShape, "sharded tree: expected at least one shard, found none",
               [] { gather(Sharded<Array>()); });
  expect_error(ErrorKind::kShape, "sharded tree: expected at least one shard, found none",
               [&] { pmap(f, {.devices = two})(Sharded<Array>()); });
  const auto rows = pmap(f, {.devices = two})(Array::range<float>({2, 3}));
  expect_error(ErrorKind::kShape, "cannot map axis 0 of a tree sharded along axis 0",
               [&] { vmap([](const Sharded<Array>& x) { return x; })(rows); });
}

// Every rank learns that another runs something else, instead of waiting for it.
TEST(Ranks, ThatDoDifferentThingsAreNamed) {
  LocalRanks(2).run([](const std::shared_ptr<Transport>& ranks) {
    const Devices devices = Devices::over(ranks);
    const auto f = [](const Array& x) { return x; };
    const Array two = Array::of({1.F, 2.F});
    const Sharded<Array> shards = pmap(f, {.devices = devices})(two);
    const bool first = ranks->rank() == 0;
    expect_error(ErrorKind::kUsage,
                 "ranks do not run the same: rank 0 in pmap 'a' of 2, rank 1 in pmap 'b' of 2",
                 [&] { pmap(f, {.axis_name = first ? "a" : "b", .devices = devices})(two); });
    expect_error(ErrorKind::kUsage, "rank 0 in gather of 2 shards, rank 1 in pmap of 2", [&] {
      if (first) gather(shards);
      pmap(f, {.devices = devices})(two);
    });
    // Both are in step again.
    EXPECT_EQ(gather(shards).as<float>()[1], 2);
    return 0;
  });
}

TEST(Ranks, HaveResultsThatDifferRefusedEverywhere) {
  LocalRanks(2).run([](const std::shared_ptr<Transport>& ranks) {
    const MapOptions options{.axis_name = "i", .axis_size = 4, .devices = Devices::over(ranks, 2)};
    const auto f = [](std::size_t odd_from) {
      return Array::range<float>({axis_index("i") < odd_from ? 3 : 4});
    };
    expect_error(ErrorKind::kShape, "ranks differ: one has float32[3], another float32[4]",
                 [&] { gather(pmap(f, options)(std::size_t{2})); });
    expect_error(ErrorKind::kShape, "gather: rank 1: results differ",
                 [&] { gather(pmap(f, options)(std::size_t{3})); });
    expect_error(ErrorKind::kUsage, "shards of several ranks cannot be gathered inside a map", [&] {
      const auto shards = pmap(f, options)(std::size_t{0});
      vmap([&](const Array&) { gather(shards); })(kFour);
    });
    return 0;
  });
}

TEST(Ranks, AreUsedByOneMapAtATime) {
  LocalRanks(2).run([](const std::shared_ptr<Transport>& ranks) {
    const MapOptions options{.axis_name = "i", .axis_size = 2, .devices = Devices::over(ranks)};
    pmap(
        [&] {
          std::thread([&] {
            expect_error(ErrorKind::kUsage, "another map uses these ranks",
                         [&] { pmap([] {}, options)(); });
          }).join();
          psum(Array::scalar(1.F), "i");
        },
        options)();
    return 0;
  });
}

}  // namespace
}  // namespace halftone::spmd
