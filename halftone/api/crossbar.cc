// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/crossbar.h"

#include <utility>

#include "halftone/api/description.h"

namespace halftone {

crossbar::CrossbarDevice device_of(const std::string& description) {
  return is_description_text(description) ? crossbar::parse_device(description, "device")
                                          : crossbar::load_device(description);
}

CrossbarReport run_on_crossbar(Network network, const data::Dataset& data,
                               const crossbar::CrossbarDevice& device,
                               crossbar::NetworkOptions options) {
  options.evaluate.network = options.evaluate.reference = network.name;
  const ir::Graph graph = prepared(std::move(network), Purpose::kRunOnFloats);
  return {device, crossbar::evaluate(graph, data, device, options)};
}

}  // namespace halftone
