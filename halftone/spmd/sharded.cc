// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/sharded.hpp"

#include <algorithm>

#include "halftone/spmd/across_ranks.h"
#include "halftone/spmd/errors.h"
#include "halftone/spmd/lane.h"

namespace halftone::spmd {
inline namespace v0 {
namespace detail {

void fail_shard(std::size_t index, std::size_t size) {
  if (size == 0) fail(ErrorKind::kShape, "sharded tree: expected at least one shard, found none");
  fail(ErrorKind::kUsage, "shard " + std::to_string(index) + " of " + std::to_string(size) +
                              " does not exist or is on another rank; gather first");
}

Flat gather(std::vector<Flat> local, const Placement& placement, ShardAxis axis) {
  if (placement.num_lanes == 0) fail_shard(0, 0);
  return with_context("gather", [&] {
    if (placement.devices.spans_ranks()) {
      return stack_lanes(internal::all_shards(std::move(local), placement), axis.axis);
    }
    return stack_lanes(local, axis.axis);
  });
}

}  // namespace detail
}  // namespace v0
}  // namespace halftone::spmd
