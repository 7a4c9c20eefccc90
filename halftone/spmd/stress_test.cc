// SPDX-License-Identifier: Apache-2.0
// Repeated runs with many more devices than cores, for the thread sanitizer.
#include "halftone/base/testing.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"
#include "halftone/spmd/testing.h"

namespace halftone::spmd {
namespace {

constexpr std::size_t kDevices = 64;
constexpr int kRepetitions = 100;

/// Large enough that several threads share the work of a collective.
const Array& numbers() {
  static const Array array = Array::range<std::int64_t>({kDevices, 300});
  return array;
}

TEST(Stress, SixtyFourDevicesAreRight) {
  constexpr std::int64_t kRows = kDevices;
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(kDevices)};
  const auto f = pmap(
      [](const Array& x) {
        const Array sum = psum(x, "i");
        const Array most = pmax(x.part(0, 0, 2), "i");
        const Array next = ppermute(x.part(0, 0, 1), "i", {{0, 1}, {63, 0}});
        return std::tuple(sum, most, next);
      },
      options);
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const auto [sums, most, next] = gather(f(numbers()));
    for (std::int64_t lane = 0; lane < kRows; lane += 21) {
      const auto sum = sums.slice(0, lane).as<std::int64_t>();
      ASSERT_EQ(sum[0], 300 * kRows * (kRows - 1) / 2);
      ASSERT_EQ(sum[299], 300 * kRows * (kRows - 1) / 2 + 299 * kRows);
      ASSERT_EQ(most.slice(0, lane).as<std::int64_t>()[1], 300 * (kRows - 1) + 1);
    }
    ASSERT_EQ(next.as<std::int64_t>()[0], 300 * (kRows - 1));
    ASSERT_EQ(next.as<std::int64_t>()[2], 0);
  }
}

TEST(Stress, NestsOfSixtyFourLanesAreRight) {
  const auto f = vmap(
      [](const Array& x) {
        return psum(psum(x, "j"), {"i", "j"});
      },
      {.axis_name = "j"});
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(8)};
  const Array x = numbers().reshaped({8, 8, 300});
  const Array wanted = vmap(f, {.axis_name = "i"})(x);
  for (int repetition = 0; repetition < kRepetitions / 5; ++repetition) {
    ASSERT_TRUE(same_bits(gather(pmap(f, options)(x)), wanted));
  }
}

TEST(Stress, ErrorsOfSixtyFourDevicesStopThemAll) {
  const MapOptions options{.axis_name = "i", .devices = Devices::emulate(kDevices)};
  for (std::size_t bad = 0; bad < 30; ++bad) {
    expect_error(ErrorKind::kIo, "on device " + std::to_string(bad + 1) + " of 64: broken", [&] {
      pmap(
          [bad](const Array& x) {
            const Array sum = psum(x, "i");
            if (axis_index("i") == bad || axis_index("i") > 40) fail(ErrorKind::kIo, "broken");
            return psum(sum, "i");
          },
          options)(numbers());
    });
  }
}

TEST(Stress, ThreeRanksOfThreeDevicesAreRight) {
  const Array x = random_array<double>({20, 400}, 1);
  const auto f = [](const Array& row) { return psum(psum(row, "i"), "i"); };
  const Array wanted = vmap(f, {.axis_name = "i"})(x);
  const auto results = LocalRanks(3).run([&](const std::shared_ptr<Transport>& ranks) {
    const MapOptions options{.axis_name = "i", .devices = Devices::over(ranks, 3)};
    bool right = true;
    for (int repetition = 0; repetition < 10; ++repetition) {
      right = right && same_bits(gather(spread(f, options)(x)), wanted);
    }
    return right ? 1 : 0;
  });
  EXPECT_THAT(results, testing::ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace halftone::spmd
