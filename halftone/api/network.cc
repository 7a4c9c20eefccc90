// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/network.h"

#include <utility>

#include "halftone/formats/model.h"
#include "halftone/passes/float_ends.h"
#include "halftone/passes/simplify.h"

namespace halftone {

Network::Network(ir::Graph the_graph, std::string the_name)
    : graph(std::move(the_graph)), name(std::move(the_name)) {}

Network load(const std::filesystem::path& path) {
  return {formats::load_model(path), path.string()};
}

void save(const Network& network, const std::filesystem::path& path) {
  formats::save_model(network.graph, path);
}

ir::Graph prepared(Network network, Purpose purpose) {
  ir::Graph graph = std::move(network.graph);
  switch (purpose) {
    case Purpose::kConvert:
      passes::simplify(graph);
      break;
    case Purpose::kFit:
      passes::simplify(graph, {.dequantize = true});
      break;
    case Purpose::kRunOnFloats:
      passes::give_float_ends(graph);
      passes::simplify_to_run(graph);
      break;
    case Purpose::kRun:
      passes::simplify_to_run(graph);
      break;
  }
  return graph;
}

}  // namespace halftone
