// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/crossbar.h"

#include <utility>

namespace halftone {

CrossbarReport run_on_crossbar(Network network, const data::Dataset& data,
                               const crossbar::Device& device, crossbar::NetworkOptions options) {
  options.evaluate.network = options.evaluate.reference = network.name;
  const ir::Graph graph = prepared(std::move(network), Purpose::kRunOnFloats);
  return {device, crossbar::evaluate(graph, data, device, options)};
}

}  // namespace halftone
