// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/loop_orders.h"

#include <algorithm>

namespace halftone::accel::mapping {

LoopOrders::LoopOrders(const Problem& problem) {
  for (const DataSpace& space : problem.data_spaces) {
    for (const std::vector<Term>& axis : space.axes) {
      for (const Term& term : axis) {
        if (axis.size() > 1) moves_window_ |= 1U << term.dimension;
      }
    }
    has_dimension_.push_back(dimension_mask(space));
  }
}

LoopOrders::Effect LoopOrders::effect_of(const LoopOrder& order) const {
  Effect effect{kMaxDimensions, {}};
  if (!order.empty() && (moves_window_ >> order.back() & 1U) != 0) effect.window = order.back();
  for (const unsigned mask : has_dimension_) {
    effect.left_out.push_back(0);
    for (auto d = order.rbegin(); d != order.rend() && (mask >> *d & 1U) == 0; ++d) {
      effect.left_out.back() |= 1U << *d;
    }
  }
  return effect;
}

bool LoopOrders::is_as_good(const Effect& a, const Effect& b) {
  if (b.window != kMaxDimensions && b.window != a.window) return false;
  for (std::size_t x = 0; x < a.left_out.size(); ++x) {
    if ((b.left_out[x] & ~a.left_out[x]) != 0) return false;
  }
  return true;
}

const std::vector<LoopOrder>& LoopOrders::of(unsigned mask) {
  const auto [found, is_new] = orders_.try_emplace(mask);
  if (!is_new) return found->second;
  LoopOrder order;
  for (std::size_t d = 0; d < kMaxDimensions; ++d) {
    if ((mask >> d & 1U) != 0) order.push_back(d);
  }
  std::vector<std::pair<LoopOrder, Effect>> kept;
  do {
    const Effect effect = effect_of(order);
    const auto beats = [&](const auto& other) { return is_as_good(other.second, effect); };
    if (std::any_of(kept.begin(), kept.end(), beats)) continue;
    std::erase_if(kept, [&](const auto& other) { return is_as_good(effect, other.second); });
    kept.emplace_back(order, effect);
  } while (std::next_permutation(order.begin(), order.end()));
  for (const auto& [kept_order, effect] : kept) found->second.push_back(kept_order);
  return found->second;
}

}  // namespace halftone::accel::mapping
