// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/finite_constants.h"

#include <algorithm>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats {
namespace {

/// Whether a node may read infinities: bounds, masks (which add -infinity) and nodes that move
/// them.
bool takes_infinity(const ir::Operator& op, bool negative) {
  if (const auto* binary = std::get_if<ir::Binary>(&op)) {
    return binary->kind == ir::BinaryKind::kMax || binary->kind == ir::BinaryKind::kMin ||
           (binary->kind == ir::BinaryKind::kAdd && negative) || ir::is_comparison(binary->kind);
  }
  return ir::moves_elements(op);
}

bool may_be_infinite(const ir::Graph& graph, ir::ValueId id, bool negative) {
  return std::ranges::all_of(graph.consumers(id), [&](ir::NodeId consumer) {
    return takes_infinity(graph.node(consumer).op, negative);
  });
}

}  // namespace

void check_finite(const ir::Graph& graph) {
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::ValueId id{static_cast<std::uint32_t>(v)};
    const auto* tensor =
        graph.constant(id) == nullptr ? nullptr : std::get_if<ir::Tensor>(graph.constant(id));
    if (tensor == nullptr ||
        (tensor->element() != ir::ElementType::kFloat32 && !is_half(tensor->element()))) {
      continue;
    }
    const ir::Tensor wide =
        is_half(tensor->element()) ? tensor->cast(ir::ElementType::kFloat32) : ir::Tensor();
    const auto values = wide.size() == 0 ? tensor->as<float>() : wide.as<float>();
    const bool takes_plus = may_be_infinite(graph, id, false);
    const bool takes_minus = may_be_infinite(graph, id, true);
    const auto bad = std::ranges::find_if(values, [&](float x) {
      return std::isnan(x) || (std::isinf(x) && !(x > 0 ? takes_plus : takes_minus));
    });
    if (bad == values.end()) continue;
    fail(ErrorKind::kFormat, "constant '" + graph.value(id).name +
                                 "': expected finite numbers, found " + number_text(*bad) +
                                 " at element " + std::to_string(bad - values.begin()));
  }
}

}  // namespace halftone::formats
