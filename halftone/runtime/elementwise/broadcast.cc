// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/elementwise/broadcast.h"

#include "halftone/ir/strides.h"

namespace halftone::runtime {
namespace {

/// The axes of the result; merges axes that are contiguous in both operands.
std::vector<BroadcastAxis> broadcast_axes(const NodeContext& context) {
  const ir::Shape& shape = context.output().shape;
  const auto a = ir::broadcast_strides(context.input(0).shape, shape);
  const auto b = ir::broadcast_strides(context.input(1).shape, shape);
  std::vector<BroadcastAxis> axes;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const BroadcastAxis axis{static_cast<std::size_t>(shape[i]), a[i], b[i]};
    if (axis.count == 1) continue;
    const bool continues = !axes.empty() && axes.back().a == axis.a * axis.count &&
                           axes.back().b == axis.b * axis.count;
    if (continues) {
      axes.back() = {axes.back().count * axis.count, axis.a, axis.b};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

}  // namespace

Broadcast find_broadcast(const NodeContext& context) {
  Broadcast result{broadcast_axes(context), {}};
  const auto take = [&] {
    if (result.outer.empty()) return BroadcastAxis{};
    const BroadcastAxis axis = result.outer.back();
    result.outer.pop_back();
    return axis;
  };
  const BroadcastAxis cols = take();
  const BroadcastAxis rows = take();
  result.rows = {rows.count, cols.count, {rows.a, cols.a}, {rows.b, cols.b}};
  return result;
}

}  // namespace halftone::runtime
