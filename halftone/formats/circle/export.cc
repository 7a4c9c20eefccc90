// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/export.h"

#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/lower.h"

namespace halftone::formats {

std::vector<std::byte> export_circle(const ir::Graph& graph, CircleFlavor flavor) {
  const ir::Graph lowered = circle::lowered(graph);
  return circle::Exporter(lowered, flavor).run();
}

}  // namespace halftone::formats
