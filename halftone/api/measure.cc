// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/measure.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/ir/symbolic_batch.h"

namespace halftone {
namespace {

std::size_t batch_to_measure(const ir::Graph& graph, const std::optional<std::size_t>& wanted) {
  const auto fixed = ir::fixed_batch(graph);
  if (fixed && wanted && *wanted != *fixed) {
    fail(ErrorKind::kUsage,
         "batch: expected " + std::to_string(*fixed) + ", which the network is fixed to, found " +
             std::to_string(*wanted),
         Hint::kBatch);
  }
  return fixed.value_or(wanted.value_or(1));
}

}  // namespace

Measurement measure(Network network, const MeasureOptions& options) {
  const std::string name = network.name;
  const ir::Graph graph = prepared(std::move(network), Purpose::kRun);
  const spmd::Devices devices =
      options.devices.empty() ? spmd::Devices::emulate(1) : options.devices;
  const int threads_each = std::max(1, num_threads() / static_cast<int>(devices.num_local()));
  const auto shares = with_context(name, [&] {
    return runtime::plan_shares(graph,
                                {batch_to_measure(graph, options.batch), threads_each,
                                 options.int8_activations, options.float_order, options.tuning},
                                devices.size());
  });
  return {shares.front(), runtime::profile(shares, devices, {.min_seconds = options.min_seconds})};
}

}  // namespace halftone
