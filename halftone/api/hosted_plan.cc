// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/hosted_plan.h"

#include <charconv>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
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

int hosted_threads(std::string_view key, std::string_view text) {
  int threads = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (code != std::errc{} || end != text.data() + text.size() || threads < 1) {
    fail(ErrorKind::kUsage, std::string(key) + ": expected a whole number of 1 or more, found '" +
                                std::string(text) + "'");
  }
  return threads;
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
