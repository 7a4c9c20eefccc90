// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/loop_record.h"

#include <algorithm>
#include <variant>

namespace halftone::formats {

bool is_taken_apart(const ir::Graph& graph, const ir::Node& node) {
  const auto readers = graph.consumers(node.output);
  const bool takes_results = std::ranges::all_of(readers, [&](ir::NodeId id) {
    return std::holds_alternative<ir::LoopResult>(graph.node(id).op);
  });
  return takes_results && graph.num_uses(node.output) == readers.size();
}

}  // namespace halftone::formats
