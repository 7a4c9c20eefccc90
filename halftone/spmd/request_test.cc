// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/request.h"

#include "halftone/base/testing.h"
#include "halftone/spmd/testing.h"

namespace halftone::spmd::internal {
namespace {

constexpr std::size_t kNumLanes = 3;

std::vector<std::vector<Array>> leaves_of_lanes() {
  std::vector<std::vector<Array>> lanes;
  for (std::size_t lane = 0; lane < kNumLanes; ++lane) {
    lanes.push_back({random_array<float>({3, 6}, lane), random_array<float>({3, 3}, 10 + lane)});
  }
  return lanes;
}

/// The results of all lanes according to the definition.
std::vector<std::vector<Array>> defined(const Request& request,
                                        const std::vector<std::vector<Array>>& brought) {
  std::vector<std::vector<Array>> results(kNumLanes);
  for (std::size_t to = 0; to < kNumLanes; ++to) {
    for (std::size_t l = 0; l < request.leaves.size(); ++l) {
      std::vector<Array> pieces;
      for (const std::size_t from : sources(request, to, kNumLanes)) {
        pieces.push_back(piece(request, brought[from][l], to, kNumLanes));
      }
      results[to].push_back(put_together(request, request.leaves[l], pieces));
    }
  }
  return results;
}

TEST(Request, JobsFollowTheDefinitionOfEachCollective) {
  const std::vector<std::vector<Array>> brought = leaves_of_lanes();
  const Request common{.leaves = brought.front()};
  for (const Operation operation :
       {Operation::kReduce, Operation::kReduceScatter, Operation::kAllGather, Operation::kAllToAll,
        Operation::kPermute}) {
    for (const bool tiled : {false, true}) {
      Request request = common;
      request.operation = operation;
      request.tiled = tiled;
      request.concat_axis = 1;
      if (operation == Operation::kPermute) request.permutation = {{0, 2}, {1, 0}};
      const std::vector<std::vector<Array>> expected = defined(request, brought);
      Job job = make_job(request, brought);
      for (std::size_t piece = 0; piece < job.num_pieces; ++piece) job.work(piece);
      for (std::size_t lane = 0; lane < kNumLanes; ++lane) {
        const auto& results = job.results[job.results.size() == 1 ? 0 : lane];
        ASSERT_EQ(results.size(), expected[lane].size());
        for (std::size_t l = 0; l < results.size(); ++l) {
          EXPECT_TRUE(same_bits(results[l], expected[lane][l]))
              << "operation " << static_cast<int>(operation) << ", tiled " << tiled << ", lane "
              << lane << ", leaf " << l;
        }
      }
    }
  }
}

TEST(Request, LanesWithoutASourceGetZeros) {
  const Request request{.operation = Operation::kPermute, .permutation = {{0, 2}}};
  EXPECT_TRUE(sources(request, 1, kNumLanes).empty());
  EXPECT_EQ(sources(request, 2, kNumLanes), std::vector<std::size_t>{0});
  const Array zeros = put_together(request, random_array<float>({2}, 1), {});
  EXPECT_THAT(zeros.as<float>(), testing::ElementsAre(0.0F, 0.0F));
}

TEST(Request, RejectsUnknownOperations) {
  Request request;
  request.operation = static_cast<Operation>(99);
  const Array array = random_array<float>({2}, 1);
  expect_error(ErrorKind::kInternal, "unknown operation", [&] { piece(request, array, 0, 1); });
  expect_error(ErrorKind::kInternal, "unknown operation",
               [&] { put_together(request, array, {array}); });
}

}  // namespace
}  // namespace halftone::spmd::internal
