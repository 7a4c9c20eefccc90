// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/measure.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"

namespace halftone {
MeasuredPlan measure(Network network, const TimingSettings& options) {
  const std::string name = network.name;
  const ir::Graph graph = prepared(std::move(network), Purpose::kRun);
  const spmd::Devices devices =
      options.devices.empty() ? spmd::Devices::emulate(1) : options.devices;
  const int threads_each = std::max(1, num_threads() / static_cast<int>(devices.num_local()));
  const auto shares = with_context(name, [&] {
    return runtime::plan_shares(
        graph, {batch_of(graph, options.batch), threads_each, options.execution}, devices.size());
  });
  return {shares.front(),
          runtime::profile(shares, devices,
                           {.min_seconds = options.min_seconds, .progress = options.progress})};
}

}  // namespace halftone
