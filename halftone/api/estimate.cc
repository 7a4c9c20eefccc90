// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/estimate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/accel/measure/measure_device.h"
#include "halftone/api/cache_numbers.h"
#include "halftone/api/description.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/lm/model/open_model.h"

namespace halftone {
namespace {

accel::Number number_of(int bits, const char* option) {
  constexpr int kMinFloatBits = 16;
  constexpr int kMaxBits = 32;
  if (bits < 1 || bits > kMaxBits) {
    fail(ErrorKind::kUsage,
         std::string(option) + ": expected 1 to 32 bits, found " + std::to_string(bits));
  }
  return {bits, bits >= kMinFloatBits};
}

accel::LanguageSettings settings_of(const LanguageEstimateOptions& options) {
  if (options.batch == 0 || options.prompt == 0 || options.context == 0) {
    fail(ErrorKind::kUsage, "batch, prompt, context: expected 1 or more of each");
  }
  return {.weights = number_of(options.weight_bits.value_or(16), "weight bits"),
          .activations = number_of(options.activation_bits, "activation bits"),
          .cache = number_of(options.cache_bits, "cache bits"),
          .group = options.group_size,
          .batch = options.batch,
          .prompt = options.prompt,
          .context = options.context};
}

accel::LanguageWorkload workload_in(const std::filesystem::path& path,
                                    const LanguageEstimateOptions& options) {
  if (!is_language_model(path)) {
    if (options.bits) {
      fail(ErrorKind::kUsage, path.string() + ": bits: expected a file of two precisions");
    }
    const std::vector<std::byte> bytes = read_file(path);
    return accel::parse_language_model({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                       path.string());
  }
  if (options.weight_bits || options.group_size != 0) {
    fail(ErrorKind::kUsage, path.string() +
                                ": its weights have bits of their own; expected no "
                                "weight bits and no group size");
  }
  return accel::language_model_of(lm::open_model(path, options.bits), path.string());
}

}  // namespace

EstimateJob job_of(const v0::EstimateOptions& options) {
  EstimateJob job{.batch = options.batch};
  job.options = {accel::method_named(options.method),
                 {options.devices, accel::split_named(options.split)}};
  if (options.training) job.training.emplace();
  return job;
}

accel::Accelerator accelerator_of(const std::string& description) {
  return is_description_text(description) ? accel::parse_accelerator(description, "accelerator")
                                          : accel::load_accelerator(description);
}

accel::Workload workload_of(Network network, const EstimateJob& job) {
  if (job.batch == std::size_t{0}) fail(ErrorKind::kUsage, "batch: expected at least 1, found 0");
  const std::string name = network.name;
  if (job.recipe) {
    ir::Graph floats = prepared(std::move(network), Purpose::kFit);
    network = Network(compress::with_rule_codes(floats, *job.recipe), name);
  }
  const RunGraph run = graph_to_run(std::move(network), job.batch);
  accel::Workload workload = accel::workload_of(run.graph, name, run.batch);
  if (job.training) workload = accel::with_training(workload, *job.training);
  return workload;
}

accel::Estimate estimate(Network network, const accel::Accelerator& accelerator,
                         const EstimateJob& job) {
  return accel::estimate(workload_of(std::move(network), job), accelerator, job.options);
}

compress::RunCosts estimated_costs(const ir::Graph& network, const std::vector<std::string>& layers,
                                   const accel::Accelerator& accelerator) {
  const accel::Estimate found = estimate(Network(network), accelerator);
  const auto samples = static_cast<double>(found.batch);
  const double us = 1e6 / samples;
  const double pj = 1e12 / samples;
  compress::RunCosts costs{std::vector<double>(layers.size(), 0), found.seconds * us,
                           std::vector<double>(layers.size(), 0), found.energy_j * pj};
  for (const accel::OperationEstimate& operation : found.operations) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (operation.name != layers[i] && operation.name != layers[i] + "/encode") continue;
      costs.layer_us[i] += operation.seconds * us;
      costs.layer_pj[i] += operation.energy_j * pj;
      break;
    }
  }
  return costs;
}

accel::Accelerator measure_hardware(const std::string& device, const ProgressSink& progress) {
  accel::ProbeSettings options;
  options.threads = num_threads();
  options.progress = progress;
  return accel::measure_device(device, options);
}

PredictedTimes predict(const runtime::Plan& plan, const accel::Accelerator& accelerator) {
  accel::Workload workload;
  workload.batch = plan.options().batch;
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i < plan.steps().size(); ++i) {
    const ir::Node& node = plan.graph().node(plan.steps()[i].node);
    if (std::holds_alternative<ir::Reshape>(node.op)) continue;
    workload.operations.push_back(accel::operation_of(plan.graph(), node, plan.options().batch));
    steps.push_back(i);
  }
  const accel::Estimate found = accel::estimate(workload, accelerator);
  PredictedTimes times{accelerator.name, 1e6 * (found.seconds + found.host_s)};
  times.step_us.resize(plan.steps().size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    times.step_us[steps[i]] = 1e6 * found.operations[i].seconds;
  }
  return times;
}

void predict(LanguageSpeed& speed, const std::filesystem::path& model,
             const accel::Accelerator& accelerator, const OpenOptions& open) {
  LanguageEstimateOptions options;
  options.bits = open.bits;
  options.activation_bits = open.float_activations ? 32 : 8;
  options.cache_bits = static_cast<int>(cache_bits(cache_named(open.cache)));
  const accel::LanguageWorkload shape = workload_in(model, options);
  const accel::LanguageSettings settings = settings_of(options);
  const auto per_second = [&](std::size_t tokens, std::size_t context) {
    if (tokens == 0) return 0.0;
    const accel::Estimate found =
        accel::estimate(accel::language_workload(shape, settings, tokens, context), accelerator);
    return static_cast<double>(tokens) / (found.seconds + found.host_s);
  };
  speed.accelerator = accelerator.name;
  for (SpeedAtDepth& each : speed.depths) {
    const std::size_t prompt = speed.prompt_tokens;
    const std::size_t token = speed.generated_tokens == 0 ? 0 : 1;
    each.predicted_prompt_tokens_per_second = per_second(prompt, each.depth + prompt);
    each.predicted_tokens_per_second =
        per_second(token, each.depth + std::max<std::size_t>(1, speed.generated_tokens / 2));
  }
}

accel::Product parse_product(std::string_view text) {
  constexpr std::size_t kMost = std::size_t{1} << 24;
  std::array<std::size_t, 3> extents{};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool is_right = true;
  for (std::size_t i = 0; i < extents.size() && is_right; ++i) {
    if (i > 0) is_right = at != end && *at++ == 'x';
    const auto [after, error] = std::from_chars(at, end, extents[i]);
    is_right = is_right && error == std::errc() && extents[i] >= 1 && extents[i] <= kMost;
    at = after;
  }
  if (!is_right || at != end) {
    fail(ErrorKind::kUsage,
         "product: expected ROWSxINNERxCOLUMNS of 1 to 2^24, found '" + std::string(text) + "'");
  }
  accel::Product product;
  product.count = 1;
  product.rows = extents[0];
  product.inner = extents[1];
  product.cols = extents[2];
  return product;
}

std::vector<accel::Executed> run_tiles(const accel::Workload& workload,
                                       const accel::Accelerator& accelerator,
                                       const accel::ExecuteOptions& options) {
  std::vector<accel::Executed> results = accel::execute(workload, accelerator, options);
  for (const accel::Executed& each : results) {
    if (!each.refusal.empty() || (each.counts_agree && each.result_agrees)) continue;
    fail(ErrorKind::kInternal, "'" + each.name + "' on " + accelerator.name + ": the " +
                                   (each.result_agrees ? "words moved" : "product in tiles") +
                                   " differ from what was expected");
  }
  return results;
}

v0::LanguageEstimate estimate_language_model(const std::filesystem::path& path,
                                             const accel::Accelerator& accelerator,
                                             const LanguageEstimateOptions& options) {
  const accel::LanguageSettings settings = settings_of(options);
  const accel::EstimateSettings how{accel::method_named(options.method),
                                    {options.devices, accel::split_named(options.split)}};
  return accel::estimate_language(workload_in(path, options), settings, accelerator, how);
}

}  // namespace halftone
