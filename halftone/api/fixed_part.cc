// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/fixed_part.h"

#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/stages.h"

namespace halftone {

ir::Graph fixed_part(ir::Graph graph) {
  if (graph.definitions().empty()) return graph;
  const std::string where = ir::describe_definition(graph);
  ir::Graph first = std::move(ir::fitted_stages(std::move(graph)).front().graph);
  if (!first.outputs().empty()) return first;
  fail(ErrorKind::kUnsupported,
       where + ": everything lies behind extents that depend on data, so nothing can be compared");
}

}  // namespace halftone
