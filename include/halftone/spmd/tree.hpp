// SPDX-License-Identifier: Apache-2.0
// Trees of arrays: the arguments and results of mapped functions. Collectives act on each leaf.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/spmd/array.hpp"

namespace halftone::spmd {
inline namespace v0 {

/// Lists the trees that a struct consists of. The struct has one static member function that
/// returns references, for constant and mutable objects:
///     static auto members(auto& self) { return std::tie(self.weight, self.bias); }
/// A type that cannot be changed gets a specialisation of TreeMembers instead.
template <typename T>
struct TreeMembers {
  /// References to the trees, as a tuple.
  static auto members(auto& self) requires requires { T::members(self); }
  { return T::members(self); }
};

struct Placement;
/// The placement of the shards of a sharded tree; null if there are none. Shared: many results have
/// the same placement.
using PlacementPointer = std::shared_ptr<const Placement>;
/// The axis along which the shards of a sharded tree are gathered.
struct ShardAxis {
  std::size_t axis = 0;
  bool operator==(const ShardAxis&) const = default;
};

namespace detail {

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {
  using Value = T;
};

template <typename T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

template <typename T>
concept WithMembers = requires(T& tree) {
  TreeMembers<std::remove_const_t<T>>::members(tree);
};

template <typename T>
constexpr bool is_tree();

template <typename Tuple, std::size_t... kIndex>
constexpr bool are_trees(std::index_sequence<kIndex...> /*unused*/) {
  return (is_tree<std::remove_cvref_t<std::tuple_element_t<kIndex, Tuple>>>() && ...);
}

template <typename T>
constexpr bool is_tree() {
  if constexpr (std::is_same_v<T, Array> || std::is_same_v<T, ShardAxis> ||
                std::is_same_v<T, PlacementPointer>) {
    return true;
  } else if constexpr (IsVector<T>::value) {
    return is_tree<typename IsVector<T>::Value>();
  } else if constexpr (TupleLike<T>) {
    return are_trees<T>(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (WithMembers<T>) {
    using Members = decltype(TreeMembers<T>::members(std::declval<T&>()));
    return are_trees<Members>(std::make_index_sequence<std::tuple_size_v<Members>>());
  } else {
    return false;
  }
}

/// Calls visitor.length(v) for every vector and visitor.node(x) for every other node that is not a
/// container, in order.
template <typename T, typename Visitor>
void visit(T& tree, Visitor& visitor) {
  using Type = std::remove_const_t<T>;
  const auto visit_all = [&visitor](auto&... members) { (visit(members, visitor), ...); };
  if constexpr (IsVector<Type>::value) {
    visitor.length(tree);
    for (auto& element : tree) visit(element, visitor);
  } else if constexpr (TupleLike<Type>) {
    std::apply(visit_all, tree);
  } else if constexpr (WithMembers<Type>) {
    std::apply(visit_all, TreeMembers<Type>::members(tree));
  } else {
    visitor.node(tree);
  }
}

}  // namespace detail

/// An Array, a std::vector, std::array, std::pair or std::tuple of trees, or a struct that lists
/// its members (see TreeMembers). A tree has a default value and can be copied.
template <typename T>
concept Tree = detail::is_tree<std::remove_cvref_t<T>>();

/// A flattened tree: its arrays in order, and the data needed to rebuild it.
struct HALFTONE_CPP_API Flat {
  std::vector<Array> leaves;
  std::vector<std::size_t> lengths;  ///< of its vectors
  std::vector<ShardAxis> axes;       ///< of its sharded trees
  std::vector<PlacementPointer> placements;

  /// "float32[3], int64[]".
  [[nodiscard]] std::string types() const;
  /// Whether both trees have the same structure: vector lengths, shard axes and types of leaves.
  [[nodiscard]] bool same_types(const Flat& other) const;
};

namespace detail {

struct Taker {
  Flat flat;
  void node(const Array& leaf) { flat.leaves.push_back(leaf); }
  void node(ShardAxis axis) { flat.axes.push_back(axis); }
  void node(const PlacementPointer& placement) { flat.placements.push_back(placement); }
  template <typename T>
  void length(const std::vector<T>& vector) {
    flat.lengths.push_back(vector.size());
  }
};

struct Builder {
  const Flat& flat;
  std::size_t leaf = 0;
  std::size_t vector = 0;
  std::size_t axis = 0;
  std::size_t placement = 0;
  void node(Array& dst) { dst = flat.leaves[leaf++]; }
  void node(ShardAxis& dst) { dst = flat.axes[axis++]; }
  void node(PlacementPointer& dst) { dst = flat.placements[placement++]; }
  template <typename T>
  void length(std::vector<T>& dst) {
    dst.resize(flat.lengths[vector++]);
  }
};

}  // namespace detail

template <Tree T>
Flat flatten(const T& tree) {
  detail::Taker taker;
  detail::visit(tree, taker);
  return std::move(taker.flat);
}

/// The tree that was flattened. @pre `flat` comes from a T
template <Tree T>
T unflatten(const Flat& flat) {
  T tree{};
  detail::Builder builder{flat};
  detail::visit(tree, builder);
  return tree;
}

/// The common extent of all leaves along an axis.
/// @param what  names the tree; messages begin with it
/// @throws Error kShape if there are no leaves, one has no such axis, the extents differ, or a
///         sharded tree among them is not sharded along a later axis
HALFTONE_CPP_API std::size_t mapped_extent(const Flat& flat, std::size_t axis,
                                           const std::string& what);
/// Entry `index` of every leaf along an axis. @pre mapped_extent() has checked the tree
HALFTONE_CPP_API Flat lane_of(const Flat& flat, std::size_t axis, std::size_t index);
/// Stacks trees of the same structure along a new axis of every leaf.
/// @throws Error kShape if there are no trees, if they differ (the message names lane and types),
///         or if they are sharded along an axis before the new one
HALFTONE_CPP_API Flat stack_lanes(const std::vector<Flat>& lanes, std::size_t axis);

}  // namespace v0
}  // namespace halftone::spmd
