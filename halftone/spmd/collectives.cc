// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/collectives.hpp"

#include "halftone/spmd/program.h"
#include "halftone/spmd/request.h"

namespace halftone::spmd {
namespace internal {
namespace {

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

}  // namespace
}  // namespace internal

inline namespace v0 {
namespace detail {

using internal::meet;
using internal::Operation;
using internal::Reduction;

Flat psum(Flat tree, const AxisNames& axes, const Groups& groups) {
  return meet(std::move(tree), axes, groups, {.name = "psum"});
}

Flat pmean(Flat tree, const AxisNames& axes, const Groups& groups) {
  return meet(std::move(tree), axes, groups, {.name = "pmean", .mean = true});
}

Flat pmax(Flat tree, const AxisNames& axes, const Groups& groups) {
  return meet(std::move(tree), axes, groups, {.name = "pmax", .reduction = Reduction::kMax});
}

Flat pmin(Flat tree, const AxisNames& axes, const Groups& groups) {
  return meet(std::move(tree), axes, groups, {.name = "pmin", .reduction = Reduction::kMin});
}

Flat all_gather(Flat tree, const AxisNames& axes, const GatherOptions& options) {
  return meet(std::move(tree), axes, options.groups,
              {.operation = Operation::kAllGather,
               .name = "all_gather",
               .tiled = options.tiled,
               .axis = options.axis});
}

Flat psum_scatter(Flat tree, const AxisNames& axes, const ScatterOptions& options) {
  return meet(std::move(tree), axes, options.groups,
              {.operation = Operation::kReduceScatter,
               .name = "psum_scatter",
               .tiled = options.tiled,
               .axis = options.axis});
}

Flat all_to_all(Flat tree, const AxisNames& axes, const AllToAllOptions& options) {
  return meet(std::move(tree), axes, options.groups,
              {.operation = Operation::kAllToAll,
               .name = "all_to_all",
               .tiled = options.tiled,
               .axis = options.split_axis,
               .concat_axis = options.concat_axis});
}

Flat ppermute(Flat tree, const AxisNames& axes, const Permutation& permutation) {
  return meet(std::move(tree), axes, {},
              {.operation = Operation::kPermute, .name = "ppermute", .permutation = permutation});
}

}  // namespace detail

std::size_t axis_index(const AxisNames& axes) {
  return internal::resolve(internal::Lane::current(), "axis_index", axes.names, {}).position;
}

std::size_t axis_size(const AxisNames& axes) {
  return internal::resolve(internal::Lane::current(), "axis_size", axes.names, {}).num_lanes;
}

}  // namespace v0
}  // namespace halftone::spmd
