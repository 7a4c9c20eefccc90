// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/cost.h"

#include <algorithm>
#include <vector>

#include "halftone/base/testing.h"

namespace halftone::spmd {
namespace {

using testing::DoubleNear;
using enum CollectiveAlgorithm;

constexpr double kBytes = 5040;  // divisible by all numbers of ranks below

/// Simulates ranks that exchange messages, each with its own clock, to check the formulas.
class Simulation {
 public:
  Simulation(std::size_t ranks, const Link& link) : link_(link), clock_(ranks) {}

  struct Message {
    std::size_t from;
    std::size_t to;
    double bytes;
    bool is_added;
  };
  /// Messages at the same time; a rank can send and receive simultaneously.
  void step(const std::vector<Message>& messages) {
    std::vector<double> done = clock_;
    for (const Message& m : messages) {
      const double begin = std::max(clock_[m.from], clock_[m.to]);
      const double arrived = begin + link_.latency_s + m.bytes * link_.per_byte_s;
      const double added = m.is_added ? m.bytes * link_.per_added_byte_s : 0;
      done[m.from] = std::max(done[m.from], arrived);
      done[m.to] = std::max(done[m.to], arrived + added);
    }
    clock_ = done;
  }
  [[nodiscard]] double seconds() const { return std::ranges::max(clock_); }

 private:
  Link link_;
  std::vector<double> clock_;
};

using Messages = std::vector<Simulation::Message>;

double ring_seconds(std::size_t ranks, const Link& link) {
  Simulation simulation(ranks, link);
  for (const bool is_added : {true, false}) {
    for (std::size_t round = 1; round < ranks; ++round) {
      Messages messages;
      for (std::size_t r = 0; r < ranks; ++r) {
        messages.push_back({r, (r + 1) % ranks, kBytes / static_cast<double>(ranks), is_added});
      }
      simulation.step(messages);
    }
  }
  return simulation.seconds();
}

double tree_seconds(std::size_t ranks, const Link& link) {
  Simulation simulation(ranks, link);
  std::size_t stride = 1;
  for (; stride < ranks; stride *= 2) {
    Messages messages;
    for (std::size_t r = 0; r + stride < ranks; r += 2 * stride) {
      messages.push_back({r + stride, r, kBytes, true});
    }
    simulation.step(messages);
  }
  while (stride > 1) {
    stride /= 2;
    Messages messages;
    for (std::size_t r = 0; r + stride < ranks; r += 2 * stride) {
      messages.push_back({r, r + stride, kBytes, false});
    }
    simulation.step(messages);
  }
  return simulation.seconds();
}

/// @param ranks  a power of two
double halving_seconds(std::size_t ranks, const Link& link) {
  Simulation simulation(ranks, link);
  double bytes = kBytes;
  const auto exchange = [&](std::size_t stride, bool is_added) {
    Messages messages;
    for (std::size_t r = 0; r < ranks; ++r) messages.push_back({r, r ^ stride, bytes, is_added});
    simulation.step(messages);
  };
  for (std::size_t stride = ranks / 2; stride > 0; stride /= 2) {
    bytes /= 2;
    exchange(stride, true);
  }
  for (std::size_t stride = 1; stride < ranks; stride *= 2) {
    exchange(stride, false);
    bytes *= 2;
  }
  return simulation.seconds();
}

TEST(AllReducePath, IsWhatASimulationTakes) {
  const std::vector<Link> links = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {20e-6, 1e-9, 3e-10}};
  for (const Link& link : links) {
    const auto expect = [&](CollectiveAlgorithm algorithm, std::size_t ranks, double wanted) {
      const double found = link.seconds(all_reduce_path(algorithm, ranks, kBytes));
      EXPECT_THAT(found, DoubleNear(wanted, 1e-9 * wanted)) << ranks << " ranks";
    };
    for (std::size_t ranks = 2; ranks <= 10; ++ranks) {
      expect(kRing, ranks, ring_seconds(ranks, link));
      expect(kTree, ranks, tree_seconds(ranks, link));
    }
    for (const std::size_t ranks : {2u, 4u, 8u, 16u}) {
      expect(kHalving, ranks, halving_seconds(ranks, link));
    }
  }
}

TEST(AllReducePath, FoldsRanksAboveAPowerOfTwo) {
  const CostPath four = all_reduce_path(kHalving, 4, kBytes);
  const CostPath five = all_reduce_path(kHalving, 5, kBytes);
  EXPECT_EQ(five.messages, four.messages + 2);
  EXPECT_EQ(five.bytes, four.bytes + 2 * kBytes);
  EXPECT_EQ(five.added_bytes, four.added_bytes + kBytes);
}

TEST(AllReducePath, OfOneRankIsNothing) {
  for (const auto algorithm : {kRing, kTree, kHalving}) {
    EXPECT_EQ(all_reduce_path(algorithm, 1, kBytes).messages, 0);
    EXPECT_EQ(all_gather_path(algorithm, 1, kBytes).bytes, 0);
  }
  EXPECT_EQ(psum_path(1, kBytes).messages, 0);
  EXPECT_EQ(ppermute_path(1, kBytes).messages, 0);
}

TEST(PsumPath, SendsSmallArraysWholeAndLargeOnesInShares) {
  const CostPath small = psum_path(4, 1000);
  EXPECT_EQ(small.messages, 2 + 3);  // agreement, then to each of the others
  EXPECT_EQ(small.added_bytes, 3000);
  const CostPath large = psum_path(4, 1e6);
  EXPECT_EQ(large.messages, 2 + 6);
  EXPECT_EQ(large.added_bytes, 750'000);
}

std::vector<CostSample> samples_of(const Link& link) {
  std::vector<CostSample> samples;
  for (const std::size_t ranks : {2u, 3u, 4u}) {
    for (const double bytes : {8.0, 4e3, 1e5, 1e6, 1e7}) {
      const CostPath path = psum_path(ranks, bytes);
      samples.push_back({path, link.seconds(path)});
    }
  }
  return samples;
}

TEST(FitLink, FindsTheLinkOfItsOwnTimes) {
  const Link link{3e-6, 2e-10, 7e-11};
  const Link found = fit_link(samples_of(link));
  EXPECT_THAT(found.latency_s, DoubleNear(link.latency_s, 1e-11));
  EXPECT_THAT(found.per_byte_s, DoubleNear(link.per_byte_s, 1e-15));
  EXPECT_THAT(found.per_added_byte_s, DoubleNear(link.per_added_byte_s, 1e-15));
}

TEST(FitLink, HasNothingBelowZero) {
  std::vector<CostSample> samples = samples_of({3e-6, 2e-10, 0});
  for (CostSample& sample : samples) {
    if (sample.path.bytes > 1e5) sample.seconds *= 0.7;  // faster than additions could explain
  }
  const Link found = fit_link(samples);
  EXPECT_GT(found.latency_s, 0);
  EXPECT_GE(found.per_byte_s, 0);
  EXPECT_GE(found.per_added_byte_s, 0);
}

TEST(FitLink, RefusesWhatCannotBeMeasured) {
  expect_error(ErrorKind::kUsage, "link: expected at least one sample", [] { fit_link({}); });
  const std::vector<CostSample> timeless{{psum_path(2, 8), 0}};
  expect_error(ErrorKind::kUsage, "expected a positive number, found 0",
               [&] { fit_link(timeless); });
}

}  // namespace
}  // namespace halftone::spmd
