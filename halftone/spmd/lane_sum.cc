// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <optional>

#include "halftone/spmd/across_ranks.h"
#include "halftone/spmd/errors.h"
#include "halftone/spmd/map.hpp"

namespace halftone::spmd {
inline namespace v0 {
namespace detail {

struct LaneSum::State {
  explicit State(const Placement& where)
      : placement(where), tree(internal::Reduction::kSum, where.num_lanes) {}

  Placement placement;
  internal::TreeReduction tree;
  std::mutex mutex;
  std::optional<Flat> first;  ///< the first result; others must have its type
};

LaneSum::LaneSum(const MapPlan& plan) : state_(std::make_unique<State>(*plan.placement)) {}
LaneSum::~LaneSum() = default;

void LaneSum::add(std::size_t lane, Flat result) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->first) state_->first = result;
    if (!result.same_types(*state_->first)) {
      fail(ErrorKind::kShape,
           "lanes returned different types: " + state_->first->types() + " and " + result.types());
    }
  }
  state_->tree.add_lane(lane, std::move(result.leaves));
}

Flat LaneSum::total() const {
  Flat total = state_->first.value_or(Flat());
  if (state_->placement.devices.spans_ranks()) {
    return internal::sum_of_ranks(std::move(total), state_->tree.nodes(), state_->placement);
  }
  total.leaves = state_->tree.result();
  return total;
}

}  // namespace detail
}  // namespace v0
}  // namespace halftone::spmd
