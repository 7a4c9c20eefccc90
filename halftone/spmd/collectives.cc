// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/collectives.h"

#include "halftone/spmd/program.h"

namespace halftone::spmd {
namespace internal {

Flat meet(Flat tree, const AxisNames& axes, const Groups& groups, Request request) {
  Lane* lane = Lane::current();
  Address address = resolve(lane, request.name, axes.names, groups);
  request.axes = axes.names;
  request.groups = groups;
  request.leaves = std::move(tree.leaves);
  request.check(address.num_lanes);
  tree.leaves = lane->run->program->meet(*lane, std::move(address), std::move(request));
  return tree;
}

}  // namespace internal

std::size_t axis_index(const AxisNames& axes) {
  return internal::resolve(internal::Lane::current(), "axis_index", axes.names, {}).position;
}

std::size_t axis_size(const AxisNames& axes) {
  return internal::resolve(internal::Lane::current(), "axis_size", axes.names, {}).num_lanes;
}

}  // namespace halftone::spmd
