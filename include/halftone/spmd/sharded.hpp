// SPDX-License-Identifier: Apache-2.0
// A tree whose pieces stay on the devices that computed them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/spmd/devices.hpp"
#include "halftone/spmd/tree.hpp"

namespace halftone::spmd {
inline namespace v0 {

/// The results of a pmap or spread: shard i is the result of lane i and stays on its device. A map
/// over the same number of lanes, on the same devices and along the same axis, passes each lane its
/// shard without a copy. A Sharded is itself a tree, so that maps can nest.
template <Tree T>
class Sharded {
 public:
  /// No shards.
  Sharded() = default;
  /// @param local      the shards of this process, in order
  /// @param axis       the axis along which gather() joins the shards
  Sharded(std::vector<T> local, ShardAxis axis, PlacementPointer placement)
      : local_(std::move(local)), axis_(axis), placement_(std::move(placement)) {}

  /// Number of shards on all ranks.
  [[nodiscard]] std::size_t size() const {
    return placement_ == nullptr ? 0 : placement_->num_lanes;
  }
  /// The axis along which gather() joins the shards.
  [[nodiscard]] ShardAxis axis() const { return axis_; }
  /// @pre size() > 0
  [[nodiscard]] const Placement& placement() const { return *placement_; }
  /// The shards of this process; the first is shard placement().first_local().
  [[nodiscard]] const std::vector<T>& local() const { return local_; }
  /// @throws Error kUsage if shard `index` is on another rank or there is none
  [[nodiscard]] const T& at(std::size_t index) const;

  /// What it consists of, as a tree.
  static auto members(auto& self) { return std::tie(self.local_, self.axis_, self.placement_); }

 private:
  std::vector<T> local_;
  ShardAxis axis_;
  PlacementPointer placement_;  // shared: results of maps over it have the same placement
};

namespace detail {

[[noreturn]] HALFTONE_CPP_API void fail_shard(std::size_t index, std::size_t size);
HALFTONE_CPP_API Flat gather(std::vector<Flat> local, const Placement& placement, ShardAxis axis);

template <typename T>
struct Gathered {
  using Type = T;
};
template <typename T>
struct Gathered<Sharded<T>> {
  using Type = typename Gathered<T>::Type;
};

}  // namespace detail

/// Stacks the shards along a new axis, in new memory, on every rank; nested shards are gathered
/// first. If the shards are on several ranks, all ranks call it, outside of maps.
/// @return  for n shards [a, b], sharded along axis 0: [n, a, b]
/// @throws Error kShape if there are no shards or they differ; kUsage within a map if the shards
///         are on several ranks, or if another rank is not in a gather
template <Tree T>
typename detail::Gathered<T>::Type gather(const Sharded<T>& sharded) {
  using Whole = typename detail::Gathered<T>::Type;
  std::vector<Flat> local;
  for (const T& shard : sharded.local()) {
    if constexpr (std::is_same_v<T, Whole>) {
      local.push_back(flatten(shard));
    } else {
      local.push_back(flatten(gather(shard)));
    }
  }
  const Placement placement = sharded.size() == 0 ? Placement() : sharded.placement();
  return unflatten<Whole>(detail::gather(std::move(local), placement, sharded.axis()));
}

/// Splits a tree along an axis of its leaves; entry i is placed on the device that runs lane i of a
/// map.
/// @throws Error kShape if a leaf has no such axis, its extents differ, or its extent is zero
template <Tree T>
Sharded<T> shard(const T& tree, const Devices& devices, std::size_t axis = 0) {
  const Flat flat = flatten(tree);
  auto placement = std::make_shared<Placement>();
  placement->devices = devices;
  placement->num_lanes = mapped_extent(flat, axis, "shard");
  if (placement->num_lanes == 0) detail::fail_shard(0, 0);
  std::vector<T> local;
  for (std::size_t i = 0; i < placement->num_local(); ++i) {
    local.push_back(unflatten<T>(lane_of(flat, axis, placement->first_local() + i)));
  }
  return {std::move(local), ShardAxis{axis}, std::move(placement)};
}

template <Tree T>
const T& Sharded<T>::at(std::size_t index) const {
  if (index >= size()) detail::fail_shard(index, size());
  const std::size_t first = placement_->first_local();
  if (index < first || index >= first + local_.size()) detail::fail_shard(index, size());
  return local_[index - first];
}

}  // namespace v0
}  // namespace halftone::spmd
