// SPDX-License-Identifier: Apache-2.0
// Functions mapped over devices, through the installed headers alone; the document's programs.
#include <algorithm>
#include <barrier>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "halftone/cpp/testing.h"
#include "halftone/spmd.hpp"

namespace {

using namespace halftone::spmd;  // NOLINT(google-build-using-namespace): as a program would
using halftone::ErrorKind;
using outside::expect_error;
using testing::ElementsAre;

std::vector<float> values(const Array& x) { return {x.as<float>().begin(), x.as<float>().end()}; }

const Array kFour = Array::of({1.F, 2.F, 3.F, 4.F});

MapOptions over(const Devices& devices) { return {.axis_name = "i", .devices = devices}; }
MapOptions over_four() { return over(Devices::emulate(4)); }

TEST(Arrays, HoldElementsOfFourTypes) {
  EXPECT_EQ(Array().type(), "float32[0]");
  EXPECT_EQ(Array::range<std::int64_t>({2, 3}).type(), "int64[2, 3]");
  EXPECT_EQ(Array::scalar(2.5).item<double>(), 2.5);
  EXPECT_EQ(to_string(ElementType::kInt32), "int32");
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(to_string(static_cast<ElementType>(9)), "unknown");
  expect_error(ErrorKind::kUsage, "float32[4]: expected int32 elements",
               [] { static_cast<void>(kFour.as<std::int32_t>()); });
  expect_error(ErrorKind::kUsage, "exactly one", [] { static_cast<void>(kFour.item<float>()); });
  expect_error(ErrorKind::kShape, "expected extents",
               [] { Array::make<float>({-1}, [](std::span<float>) {}); });
  expect_error(ErrorKind::kShape, "expected 3 values, found 2", [] {
    Array::from<float>({3}, std::vector<float>{1, 2});
  });
  expect_error(ErrorKind::kUnsupported, "unknown element type",
               [] { draft(static_cast<ElementType>(9), {1}); });
}

TEST(Arrays, AreCutAndJoined) {
  const Array x = Array::range<float>({2, 3});
  EXPECT_THAT(values(x.slice(1, 2)), ElementsAre(2, 5));
  EXPECT_EQ(x.part(1, 0, 2).type(), "float32[2, 2]");
  EXPECT_EQ(x.reshaped({6}).rank(), 1U);
  EXPECT_EQ(stack(std::vector{x, x}, 1).type(), "float32[2, 2, 3]");
  EXPECT_EQ(concatenate(std::vector{x, x}).type(), "float32[4, 3]");
  expect_error(ErrorKind::kShape, "cannot reshape", [&] { static_cast<void>(x.reshaped({5})); });
  expect_error(ErrorKind::kShape, "stack: ", [&] { stack(std::vector{x, kFour}); });
}

TEST(Trees, AreFlattenedAndRebuilt) {
  std::pair tree{kFour, std::vector{Array::scalar(1), Array::scalar(2)}};
  const Flat flat = flatten(tree);
  EXPECT_EQ(flat.types(), "float32[4], int32[], int32[]");
  EXPECT_TRUE(flat.same_types(flatten(unflatten<decltype(tree)>(flat))));
  EXPECT_EQ(mapped_extent(flatten(kFour), 0, "x"), 4U);
  EXPECT_EQ(stack_lanes({lane_of(flatten(kFour), 0, 1)}, 0).types(), "float32[1]");
}

TEST(Maps, RunEveryCollective) {
  const auto f = [](const Array& x) {
    const Array row = stack(std::vector<Array>(4, x));
    EXPECT_EQ(axis_size("i"), 4U);
    return std::vector{psum(x, "i"),
                       pmean(x, "i"),
                       pmax(x, "i"),
                       pmin(x, "i"),
                       all_gather(x, "i").slice(0, 2),
                       psum_scatter(row, "i"),
                       all_to_all(row, "i", {}).slice(0, 3),
                       ppermute(x, "i", {{0, 1}, {1, 0}}),
                       Array::scalar(static_cast<float>(axis_index("i")))};
  };
  const auto on_devices = gather(pmap(f, over_four())(kFour));
  const auto as_batch = vmap(f, {.axis_name = "i"})(kFour);
  const std::vector<std::vector<float>> wanted = {
      {10, 10, 10, 10}, {2.5, 2.5, 2.5, 2.5}, {4, 4, 4, 4}, {1, 1, 1, 1}, {3, 3, 3, 3},
      {10, 10, 10, 10}, {4, 4, 4, 4},         {2, 1, 0, 0}, {0, 1, 2, 3}};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(values(on_devices.at(i)), wanted[i]) << i;
    EXPECT_EQ(values(as_batch.at(i)), wanted[i]) << i;
  }
}

TEST(Maps, SpreadMoreLanesThanDevices) {
  const auto twice = [](const Array& x) { return Array::scalar(2 * x.item<float>()); };
  const Sharded<Array> shards = spread(twice, over(Devices::emulate(2)))(kFour);
  EXPECT_EQ(shards.at(3).item<float>(), 8);
  EXPECT_EQ(shards.placement().device_of(3), 1U);
  EXPECT_EQ(shards.placement().devices_of(0).size(), 1U);
  EXPECT_EQ(shards.placement().first_lane(0), 0U);
  EXPECT_EQ(spread_sum(twice, over(Devices::emulate(3)))(kFour).item<float>(), 20);
  EXPECT_THAT(values(gather(shard(kFour, Devices::for_threads()))), ElementsAre(1, 2, 3, 4));
  expect_error(ErrorKind::kUsage, "shard 4 of 4", [&] { static_cast<void>(shards.at(4)); });
}

TEST(Maps, AreOverDevices) {
  const Devices devices = Devices::emulate(4);
  EXPECT_EQ(devices.part(1, 2).size(), 2U);
  EXPECT_EQ(devices.num_local(), 4U);
  EXPECT_EQ(devices.rank() + devices.rank_of(3), 0U);
  EXPECT_EQ(devices.num_ranks(), 1U);
  EXPECT_EQ(devices.transport(), nullptr);
  expect_error(ErrorKind::kUsage, "devices: expected 1 to 4096", [] { Devices::emulate(0); });
}

TEST(Maps, ThrowErrorsOfTheApi) {
  const auto sum_of_most = [](const Array& x) { return axis_index("i") == 2 ? x : psum(x, "i"); };
  expect_error(ErrorKind::kUsage, "waits for i=2, which ended without it",
               [&] { pmap(sum_of_most, over_four())(kFour); });
  expect_error(ErrorKind::kUsage, "psum: there is no axis 'j'; mapped axes: 'i'",
               [] { pmap([](const Array& x) { return psum(x, "j"); }, over_four())(kFour); });
  expect_error(ErrorKind::kUsage, "pmap 'i': 4 lanes, but only 2 devices",
               [] { pmap([](const Array& x) { return x; }, over(Devices::emulate(2)))(kFour); });
  expect_error(ErrorKind::kIo, "on device 2 of 4: no file", [] {
    const auto read = [](const Array& x) {
      if (axis_index("i") == 1) throw halftone::Error(ErrorKind::kIo, "no file");
      return psum(x, "i");
    };
    pmap(read, over_four())(kFour);
  });
}

struct Mine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(Maps, LeaveExceptionsOfTheCallerAsTheyAre) {
  const auto f = [](const Array& x) {
    if (axis_index("i") == 3) throw Mine("mine");
    return psum(x, "i");
  };
  EXPECT_THROW(pmap(f, over_four())(kFour), Mine);
  EXPECT_THROW(vmap(f, {.axis_name = "i"})(kFour), Mine);
}

/// Two ranks, which are threads of this process.
struct Pair {
  std::barrier<> both{2};
  std::array<std::vector<std::byte>, 2> gathered;
  std::array<std::vector<std::vector<std::byte>>, 2> sent;  ///< by each rank to the other
};

class PairTransport : public Transport {
 public:
  PairTransport(Pair& pair, std::size_t rank) : pair_(pair), rank_(rank) {}
  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t num_ranks() const override { return 2; }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    pair_.gathered[rank_].assign(mine.begin(), mine.end());
    pair_.both.arrive_and_wait();
    for (std::size_t r = 0; r < 2; ++r) {
      std::ranges::copy(pair_.gathered[r], all.subspan(r * mine.size()).begin());
    }
    pair_.both.arrive_and_wait();
  }
  void exchange(std::span<const Parcel<const std::byte>> sent,
                std::span<const Parcel<std::byte>> received) override {
    for (const auto& parcel : sent) {
      pair_.sent[rank_].emplace_back(parcel.bytes.begin(), parcel.bytes.end());
    }
    pair_.both.arrive_and_wait();
    for (std::size_t i = 0; i < received.size(); ++i) {
      std::ranges::copy(pair_.sent[1 - rank_].at(i), received[i].bytes.begin());
    }
    pair_.both.arrive_and_wait();
    pair_.sent[rank_].clear();
  }
  void end_all_ranks(const std::string& message) noexcept override { ADD_FAILURE() << message; }

 private:
  Pair& pair_;
  std::size_t rank_;
};

TEST(Maps, RunOnRanksOfATransportOfTheCaller) {
  Pair pair;
  const auto rank = [&pair](std::size_t r) {
    const Devices devices = Devices::over(std::make_shared<PairTransport>(pair, r), 2);
    EXPECT_EQ(devices.size(), 4U);
    const auto sum = pmap([](const Array& x) { return psum(x, "i"); }, over(devices));
    EXPECT_THAT(values(gather(sum(kFour))), ElementsAre(10, 10, 10, 10));
  };
  std::jthread other(rank, 1);
  rank(0);
}

/// The lines of a file without their indent.
std::vector<std::string> bare_lines(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos) lines.push_back(line.substr(begin));
  }
  return lines;
}

TEST(Examples, OfTheDocumentAreThoseOfTheProgram) {
  const std::string folder = HALFTONE_SOURCE_DIR;
  std::ifstream program(folder + "/examples/cpp/devices.cc");
  const std::vector<std::string> here = bare_lines(program);
  std::ostringstream text;
  text << std::ifstream(folder + "/docs/spmd.md").rdbuf();
  const std::string document = text.str();
  const std::string kBegin = "```cpp\n";
  int num_blocks = 0;
  for (std::size_t at = document.find(kBegin); at != std::string::npos;
       at = document.find(kBegin, at + 1)) {
    const std::size_t begin = at + kBegin.size();
    std::istringstream in(document.substr(begin, document.find("```", begin) - begin));
    const std::vector<std::string> block = bare_lines(in);
    EXPECT_NE(std::search(here.begin(), here.end(), block.begin(), block.end()), here.end())
        << block.front();
    ++num_blocks;
  }
  EXPECT_GE(num_blocks, 9);
}

}  // namespace
