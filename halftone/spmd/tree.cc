// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/tree.hpp"

#include <optional>

#include "halftone/spmd/errors.h"
#include "halftone/spmd/leaves.h"

namespace halftone::spmd {

inline namespace v0 {

std::string Flat::types() const {
  std::string text;
  for (const Array& leaf : leaves) text += (text.empty() ? "" : ", ") + leaf.type();
  return text.empty() ? "nothing" : text;
}

bool Flat::same_types(const Flat& other) const {
  if (lengths != other.lengths || axes != other.axes || leaves.size() != other.leaves.size()) {
    return false;
  }
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    if (!leaves[l].same_type(other.leaves[l])) return false;
  }
  return true;
}

std::size_t mapped_extent(const Flat& flat, std::size_t axis, const std::string& what) {
  std::optional<std::int64_t> extent;
  for (const Array& leaf : flat.leaves) {
    if (axis >= leaf.rank()) {
      fail(ErrorKind::kShape, what + ": " + leaf.type() + " has no axis " + std::to_string(axis));
    }
    if (extent && *extent != leaf.shape()[axis]) {
      fail(ErrorKind::kShape, what + ": expected equal extents along axis " + std::to_string(axis) +
                                  ", found " + flat.types());
    }
    extent = leaf.shape()[axis];
  }
  if (!extent) fail(ErrorKind::kShape, what + ": expected at least one array, found none");
  for (const ShardAxis sharded : flat.axes) {
    if (axis >= sharded.axis) {
      fail(ErrorKind::kShape, what + ": cannot map axis " + std::to_string(axis) +
                                  " of a tree sharded along axis " + std::to_string(sharded.axis) +
                                  "; gather it first");
    }
  }
  return static_cast<std::size_t>(*extent);
}

Flat lane_of(const Flat& flat, std::size_t axis, std::size_t index) {
  Flat lane = flat;
  for (Array& leaf : lane.leaves) leaf = leaf.slice(axis, static_cast<std::int64_t>(index));
  for (ShardAxis& sharded : lane.axes) --sharded.axis;
  return lane;
}

}  // namespace v0

namespace internal {

void check_alike(const std::vector<Flat>& lanes, std::size_t first_lane) {
  for (std::size_t i = 1; i < lanes.size(); ++i) {
    if (!lanes[i].same_types(lanes.front())) {
      fail(ErrorKind::kShape, "results differ: lane " + std::to_string(first_lane) + " returned " +
                                  lanes.front().types() + ", lane " +
                                  std::to_string(first_lane + i) + " " + lanes[i].types());
    }
  }
}

}  // namespace internal

inline namespace v0 {

Flat stack_lanes(const std::vector<Flat>& lanes, std::size_t axis) {
  if (lanes.empty()) fail(ErrorKind::kShape, "stack: expected at least one lane, found none");
  internal::check_alike(lanes, 0);
  Flat result = lanes.front();
  std::vector<Array> arrays(lanes.size());
  for (std::size_t l = 0; l < result.leaves.size(); ++l) {
    for (std::size_t i = 0; i < lanes.size(); ++i) arrays[i] = lanes[i].leaves[l];
    result.leaves[l] = stack(arrays, axis);
  }
  for (ShardAxis& sharded : result.axes) {
    if (axis > sharded.axis) {
      fail(ErrorKind::kShape, "cannot stack results sharded along axis " +
                                  std::to_string(sharded.axis) + " along the later axis " +
                                  std::to_string(axis));
    }
    ++sharded.axis;
  }
  return result;
}

}  // namespace v0
}  // namespace halftone::spmd
