// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/export.h"

#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/file_layers.h"
#include "halftone/formats/circle/lower.h"

namespace halftone::formats {

SharedBytes circle_file(const ir::Graph& graph, CircleFlavor flavor, bool one_operator) {
  const ir::Graph lowered = circle::lowered(with_file_layers(graph));
  SharedBytes file = circle::Exporter(lowered, flavor).run();
  return one_operator ? circle::Exporter(lowered, flavor).run_as_one_operator(file.bytes) : file;
}

std::vector<std::string> own_circle_layers(const ir::Graph& graph) {
  std::vector<std::string> names;
  const ir::Graph file = circle::lowered(with_file_layers(graph));
  for (const ir::NodeId id : file.topological_order()) {
    const ir::Node& node = file.node(id);
    if (circle::is_own_float_recurrent(file, node)) names.push_back(node.name);
  }
  return names;
}

std::vector<std::byte> export_circle(const ir::Graph& graph, CircleFlavor flavor) {
  const SharedBytes file = circle_file(graph, flavor);
  return {file.bytes.begin(), file.bytes.end()};
}

}  // namespace halftone::formats
