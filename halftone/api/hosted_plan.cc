// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/hosted_plan.h"

#include <optional>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/base/thread_settings.h"

namespace halftone {

std::shared_ptr<const runtime::Plan> hosted_plan(Network network) {
  const RunGraph run = graph_to_run(std::move(network), std::nullopt);
  runtime::PlanSettings options;
  options.batch = run.batch;
  options.execution.float_order = runtime::FloatOrder::kFixed;
  options.threads = thread_settings().threads == 0 ? num_threads() : thread_settings().threads;
  return runtime::make_plan(run.graph, options);
}

std::vector<std::vector<std::int64_t>> output_extents(const runtime::Plan& plan) {
  std::vector<std::vector<std::int64_t>> result;
  for (const ir::ValueId id : plan.outputs()) {
    const auto extents = plan.graph().value(id).type.shape.dims();
    result.emplace_back(extents.begin(), extents.end());
  }
  return result;
}

}  // namespace halftone
