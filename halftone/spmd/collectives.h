// SPDX-License-Identifier: Apache-2.0
// What the lanes of mapped functions do together.
//
// All lanes of an axis call a collective in the same order and with arguments alike; those that
// wait learn at once if one of them calls another, or ends. Several axes may be named: then the
// lanes of all of them meet, numbered with the outermost axis first, whatever the order of the
// names. Each leaf of a tree is treated alike. Called anywhere else, with an axis that is not
// mapped, with an axis named twice or with arguments that do not fit, every function throws Error
// kUsage or kShape.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "halftone/spmd/request.h"
#include "halftone/spmd/tree.h"

namespace halftone::spmd {

/// Names of axes: psum(x, "devices"), psum(x, {"devices", "batch"}).
struct AxisNames {
  // NOLINTNEXTLINE(google-explicit-constructor): a name is a list of one.
  AxisNames(const char* name) : names{name} {}
  // NOLINTNEXTLINE(google-explicit-constructor): likewise.
  AxisNames(std::string name) : names{std::move(name)} {}
  AxisNames(std::initializer_list<std::string> list) : names(list) {}
  std::vector<std::string> names;
};

/// Indices along one axis that act without the others, as {{0, 1}, {2, 3}}: each index in one
/// group, all groups of one size. None: one group of all.
using Groups = std::vector<std::vector<std::size_t>>;

struct GatherOptions {
  std::size_t axis = 0;  ///< of the result, where the lanes lie
  bool tiled = false;    ///< along an axis the leaves have, not along a new one
  Groups groups{};
};

struct ScatterOptions {
  std::size_t axis = 0;  ///< of the leaves, along which the lanes get their parts
  bool tiled = false;    ///< parts keep the axis, which is a multiple of the lanes long
  Groups groups{};
};

struct AllToAllOptions {
  std::size_t split_axis = 0;   ///< of the leaves: entry j goes to lane j
  std::size_t concat_axis = 0;  ///< of the result: entry i comes from lane i
  bool tiled = false;           ///< the axes stay, one n times shorter and the other n times longer
  Groups groups{};
};

/// Pairs (from, to); each lane is in at most one as source and in one as destination.
using Permutation = std::vector<std::pair<std::size_t, std::size_t>>;

namespace internal {
Flat meet(Flat tree, const AxisNames& axes, const Groups& groups, Request request);

template <Tree T>
T meet(const T& tree, const AxisNames& axes, const Groups& groups, Request request) {
  return unflatten<T>(meet(flatten(tree), axes, groups, std::move(request)));
}
}  // namespace internal

/// The sum over the lanes, for all of them: ((x_0 + x_1) + (x_2 + x_3)) + ..., a binary tree over
/// the lanes' indices; so its bits do not depend on how the lanes lie on devices.
template <Tree T>
T psum(const T& tree, const AxisNames& axes, const Groups& groups = {}) {
  return internal::meet(tree, axes, groups, {.name = "psum"});
}

/// psum() / number of lanes, of floating point leaves.
template <Tree T>
T pmean(const T& tree, const AxisNames& axes, const Groups& groups = {}) {
  return internal::meet(tree, axes, groups, {.name = "pmean", .mean = true});
}

/// The greatest of each element over the lanes; NaN if any is.
template <Tree T>
T pmax(const T& tree, const AxisNames& axes, const Groups& groups = {}) {
  return internal::meet(tree, axes, groups,
                        {.name = "pmax", .reduction = internal::Reduction::kMax});
}

/// The least of each element over the lanes; NaN if any is.
template <Tree T>
T pmin(const T& tree, const AxisNames& axes, const Groups& groups = {}) {
  return internal::meet(tree, axes, groups,
                        {.name = "pmin", .reduction = internal::Reduction::kMin});
}

/// What all lanes brought, side by side: of n lanes with [a, b], [n, a, b]; tiled: [n a, b].
template <Tree T>
T all_gather(const T& tree, const AxisNames& axes, const GatherOptions& options = {}) {
  return internal::meet(tree, axes, options.groups,
                        {.operation = internal::Operation::kAllGather,
                         .name = "all_gather",
                         .tiled = options.tiled,
                         .axis = options.axis});
}

/// Lane i's part of psum(): of n lanes with [n, a], [a]; tiled, of [n k, a], [k, a].
template <Tree T>
T psum_scatter(const T& tree, const AxisNames& axes, const ScatterOptions& options = {}) {
  return internal::meet(tree, axes, options.groups,
                        {.operation = internal::Operation::kReduceScatter,
                         .name = "psum_scatter",
                         .tiled = options.tiled,
                         .axis = options.axis});
}

/// Lane i's entry j becomes lane j's entry i: of n lanes with [n, a], split along 0, put together
/// along 1: [a, n].
template <Tree T>
T all_to_all(const T& tree, const AxisNames& axes, const AllToAllOptions& options = {}) {
  return internal::meet(tree, axes, options.groups,
                        {.operation = internal::Operation::kAllToAll,
                         .name = "all_to_all",
                         .tiled = options.tiled,
                         .axis = options.split_axis,
                         .concat_axis = options.concat_axis});
}

/// What lane `from` brought, for lane `to`; zeros for lanes that are no destination.
template <Tree T>
T ppermute(const T& tree, const AxisNames& axes, const Permutation& permutation) {
  return internal::meet(
      tree, axes, {},
      {.operation = internal::Operation::kPermute, .name = "ppermute", .permutation = permutation});
}

/// The number of the calling lane among those that would meet, from 0.
std::size_t axis_index(const AxisNames& axes);
/// How many lanes would meet.
std::size_t axis_size(const AxisNames& axes);

}  // namespace halftone::spmd
