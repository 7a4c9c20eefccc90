// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/estimate.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/compress/rule_codes.h"

namespace halftone {

accel::Workload workload_of(Network network, const EstimateJob& job) {
  const std::string name = network.name;
  if (job.recipe) {
    ir::Graph floats = prepared(std::move(network), Purpose::kFit);
    network = Network(compress::with_rule_codes(floats, *job.recipe), name);
  }
  accel::Workload workload =
      accel::workload_of(graph_to_run(std::move(network), job.batch), name, job.batch);
  if (job.training) workload = accel::with_training(workload, *job.training);
  return workload;
}

accel::Estimate estimate(Network network, const accel::Accelerator& accelerator,
                         const EstimateJob& job) {
  return accel::estimate(workload_of(std::move(network), job), accelerator, job.options);
}

accel::LanguageModel load_language_model(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return accel::parse_language_model({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                     path.string());
}

}  // namespace halftone
