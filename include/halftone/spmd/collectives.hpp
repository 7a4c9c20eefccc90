// SPDX-License-Identifier: Apache-2.0
// Collectives over the lanes of mapped functions.
//
// All lanes of an axis call the same collectives in the same order, with arguments of the same
// types. If a lane calls another collective or ends, the waiting lanes fail at once. A collective
// over several axes combines the lanes of all of them, numbered with the outermost axis first
// regardless of the order of the names. It applies to each leaf of a tree. Every function throws
// Error kUsage or kShape if it is called outside of a map, names an axis that is not mapped, names
// an axis twice, or receives arguments that do not fit.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/spmd/tree.hpp"

namespace halftone::spmd {
inline namespace v0 {

/// Names of axes: psum(x, "devices"), psum(x, {"devices", "batch"}).
struct AxisNames {
  /// One name.
  // NOLINTNEXTLINE(google-explicit-constructor): one name is a list of length 1.
  AxisNames(const char* name) : names{name} {}
  /// One name.
  // NOLINTNEXTLINE(google-explicit-constructor): likewise.
  AxisNames(std::string name) : names{std::move(name)} {}
  /// Several, in any order.
  AxisNames(std::initializer_list<std::string> list) : names(list) {}
  std::vector<std::string> names;
};

/// A partition of the indices of one axis into groups of equal size, e.g. {{0, 1}, {2, 3}}. Each
/// group runs the collective by itself. Empty: one group of all indices.
using Groups = std::vector<std::vector<std::size_t>>;

/// For all_gather().
struct GatherOptions {
  std::size_t axis = 0;  ///< axis of the result along which the lanes lie
  bool tiled = false;    ///< concatenate along an existing axis instead of a new one
  Groups groups{};
};

/// For psum_scatter().
struct ScatterOptions {
  std::size_t axis = 0;  ///< axis of the leaves that is divided among the lanes
  bool tiled = false;    ///< parts keep the axis; its extent is a multiple of the number of lanes
  Groups groups{};
};

/// For all_to_all().
struct AllToAllOptions {
  std::size_t split_axis = 0;   ///< axis of the leaves: entry j goes to lane j
  std::size_t concat_axis = 0;  ///< axis of the result: entry i comes from lane i
  bool tiled = false;           ///< keep both axes: one n times shorter, the other n times longer
  Groups groups{};
};

/// Pairs (from, to); each lane is the source of at most one and the destination of at most one.
using Permutation = std::vector<std::pair<std::size_t, std::size_t>>;

namespace detail {
// The collectives of flattened trees.
HALFTONE_CPP_API Flat psum(Flat tree, const AxisNames& axes, const Groups& groups);
HALFTONE_CPP_API Flat pmean(Flat tree, const AxisNames& axes, const Groups& groups);
HALFTONE_CPP_API Flat pmax(Flat tree, const AxisNames& axes, const Groups& groups);
HALFTONE_CPP_API Flat pmin(Flat tree, const AxisNames& axes, const Groups& groups);
HALFTONE_CPP_API Flat all_gather(Flat tree, const AxisNames& axes, const GatherOptions& options);
HALFTONE_CPP_API Flat psum_scatter(Flat tree, const AxisNames& axes, const ScatterOptions& options);
HALFTONE_CPP_API Flat all_to_all(Flat tree, const AxisNames& axes, const AllToAllOptions& options);
HALFTONE_CPP_API Flat ppermute(Flat tree, const AxisNames& axes, const Permutation& permutation);
}  // namespace detail

/// The sum over the lanes, returned to each of them: ((x_0 + x_1) + (x_2 + x_3)) + ..., a binary
/// tree over the lanes' indices, so that its bits do not depend on the placement on devices.
template <Tree T>
T psum(const T& tree, const AxisNames& axes, const Groups& groups = {}) {
  return unflatten<T>(detail::psum(flatten(tree), axes, groups));
}

/// psum() / number of lanes; the leaves are floating point.
template <Tree T>
T pmean(const T& tree, const AxisNames& axes, const Groups& groups = {}) {
  return unflatten<T>(detail::pmean(flatten(tree), axes, groups));
}

/// The element-wise maximum over the lanes; NaN if any element is NaN.
template <Tree T>
T pmax(const T& tree, const AxisNames& axes, const Groups& groups = {}) {
  return unflatten<T>(detail::pmax(flatten(tree), axes, groups));
}

/// The element-wise minimum over the lanes; NaN if any element is NaN.
template <Tree T>
T pmin(const T& tree, const AxisNames& axes, const Groups& groups = {}) {
  return unflatten<T>(detail::pmin(flatten(tree), axes, groups));
}

/// The values of all lanes: n lanes with [a, b] give [n, a, b]; tiled, [n a, b].
template <Tree T>
T all_gather(const T& tree, const AxisNames& axes, const GatherOptions& options = {}) {
  return unflatten<T>(detail::all_gather(flatten(tree), axes, options));
}

/// Lane i's part of psum(): n lanes with [n, a] get [a]; tiled, lanes with [n k, a] get [k, a].
template <Tree T>
T psum_scatter(const T& tree, const AxisNames& axes, const ScatterOptions& options = {}) {
  return unflatten<T>(detail::psum_scatter(flatten(tree), axes, options));
}

/// Entry j of lane i becomes entry i of lane j: n lanes with [n, a], split along axis 0 and
/// concatenated along axis 1, get [a, n].
template <Tree T>
T all_to_all(const T& tree, const AxisNames& axes, const AllToAllOptions& options = {}) {
  return unflatten<T>(detail::all_to_all(flatten(tree), axes, options));
}

/// Lane `to` gets the value of lane `from`; a lane that is no destination gets zeros.
template <Tree T>
T ppermute(const T& tree, const AxisNames& axes, const Permutation& permutation) {
  return unflatten<T>(detail::ppermute(flatten(tree), axes, permutation));
}

/// The index of the calling lane among the lanes of these axes, from 0.
HALFTONE_CPP_API std::size_t axis_index(const AxisNames& axes);
/// The number of lanes of these axes that a collective would combine.
HALFTONE_CPP_API std::size_t axis_size(const AxisNames& axes);

}  // namespace v0
}  // namespace halftone::spmd
