// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/crossbar.h"

#include <utility>

#include "halftone/api/description.h"
#include "halftone/api/sample_shapes.h"

namespace halftone {

crossbar::CrossbarDevice device_of(const std::string& description, std::optional<double> seconds) {
  crossbar::CrossbarDevice device = is_description_text(description)
                                        ? crossbar::parse_device(description, "device")
                                        : crossbar::load_device(description);
  device.seconds = seconds.value_or(device.seconds);
  return device;
}

crossbar::NetworkOptions options_of(const v0::CrossbarOptions& options,
                                    const ProgressSink& progress, const spmd::Devices& devices) {
  crossbar::NetworkOptions result{.num_seeds = options.seeds, .seed = options.seed};
  result.evaluate.batch = options.batch;
  result.evaluate.progress = progress;
  result.evaluate.devices = devices;
  return result;
}

CrossbarReport run_on_crossbar(Network network, const data::Dataset& data,
                               const crossbar::CrossbarDevice& device,
                               crossbar::NetworkOptions options) {
  options.evaluate.network = options.evaluate.reference = network.name;
  const ir::Graph graph = prepared(with_samples(std::move(network), data), Purpose::kRunOnFloats);
  return {device, crossbar::evaluate(graph, data, device, options)};
}

}  // namespace halftone
