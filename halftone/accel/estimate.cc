// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "halftone/accel/operation_model.h"
#include "halftone/base/error.h"

namespace halftone::accel {
namespace {

constexpr std::size_t kMaxNamed = 20;  ///< operations in a message

/// Fails with the names of all operations that no unit computes.
void check_units(const Workload& workload, const OperationModel& model) {
  std::string list;
  std::size_t found = 0;
  for (const Operation& operation : workload.operations) {
    const std::string reason = model.refusal(operation);
    if (reason.empty() || ++found > kMaxNamed) continue;
    list +=
        (found > 1 ? "; " : "") + ("'" + operation.name + "' (" + operation.op + "): ") + reason;
  }
  if (found == 0) return;
  if (found > kMaxNamed) list += "; and " + std::to_string(found - kMaxNamed) + " more";
  fail(ErrorKind::kUnsupported, model.accelerator().name + " cannot compute " + list);
}

/// The largest sum of bytes of some roles in one operation.
double largest(const Workload& workload, std::initializer_list<TensorRole> roles) {
  double most = 0;
  for (const Operation& each : workload.operations) {
    double sum = 0;
    for (const auto* list : {&each.reads, &each.writes}) {
      for (const Transfer& transfer : *list) {
        if (std::ranges::find(roles, transfer.role) != roles.end()) sum += transfer.bytes;
      }
    }
    most = std::max(most, sum);
  }
  return most;
}

/// Three digits: "1.05 MB".
std::string text_of_bytes(double bytes) {
  constexpr std::array kUnits = {std::pair{1e9, " GB"}, std::pair{1e6, " MB"},
                                 std::pair{1e3, " kB"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes >= unit) return fmt::format("{:.3g}{}", bytes / unit, name);
  }
  return fmt::format("{:.3g} B", bytes);
}

void check_room(const Footprint& need, const Accelerator& accelerator) {
  const Memory& outermost = accelerator.memories.front();
  if (need.total() <= outermost.bytes) return;
  fail(ErrorKind::kUnsupported,
       "needs " + text_of_bytes(need.total()) + " (weights " + text_of_bytes(need.weights) +
           ", states " + text_of_bytes(need.states) + ", activations " +
           text_of_bytes(need.activations) + ", training " + text_of_bytes(need.training) +
           "), but memory '" + outermost.name + "' of " + accelerator.name + " has " +
           text_of_bytes(outermost.bytes) + ": use more devices, fewer bits or a smaller batch");
}

/// What chips sum after an operation, or gather: half of a sum, as all have to get the result only.
void add_exchange(const Operation& operation, const Accelerator& accelerator, const Split& split,
                  OperationEstimate& result) {
  const bool is_tensor = split.kind == SplitKind::kTensor;
  const bool sums = (is_tensor && operation.joins_shares) ||
                    (split.kind == SplitKind::kData && operation.is_gradient_of_weights);
  const bool gathers = is_tensor && operation.gathers_shares;
  if (split.chips <= 1 || !(sums || gathers)) return;
  const double part = sums ? 1 : 0.5;
  const double bytes = operation.bytes_written();
  result.link_s = part * all_reduce_seconds(*accelerator.link, split.chips, bytes);
  // Each byte of a sum leaves a chip twice: as an operand and as a part of the result.
  result.energy_j += 2e-12 * part * bytes * accelerator.link->pj_per_byte;
}

double host_seconds(const Workload& workload, const Accelerator& accelerator) {
  if (!accelerator.host || workload.operations.empty()) return 0;
  double bytes = 0;
  for (const Transfer& each : workload.operations.front().reads) {
    if (each.role == TensorRole::kInputs) bytes += each.bytes;
  }
  const double results = workload.operations.back().bytes_written();
  return 2 * accelerator.host->latency_s + (bytes + results) / accelerator.host->bytes_per_second;
}

/// Adds what chips of a pipeline send, and finds the slowest of them.
void add_pipeline(const Workload& workload, const Accelerator& accelerator, const Split& split,
                  Estimate& result) {
  result.interval_s = result.seconds;
  if (split.chips <= 1 || split.kind != SplitKind::kPipeline) return;
  std::vector<double> seconds;
  for (const OperationEstimate& each : result.operations) seconds.push_back(each.seconds);
  std::vector<std::size_t> first = pipeline_stages(seconds, split.chips);
  first.push_back(seconds.size());
  result.interval_s = 0;
  for (std::size_t stage = 0; stage < split.chips; ++stage) {
    double sum = 0;
    for (std::size_t i = first[stage]; i < first[stage + 1]; ++i) sum += seconds[i];
    if (stage > 0) {
      const Operation& before = workload.operations[first[stage] - 1];
      const double sent = send_seconds(*accelerator.link, before.bytes_written());
      result.seconds += sent;
      sum += sent;
    }
    result.interval_s = std::max(result.interval_s, sum);
  }
}

}  // namespace

std::string_view to_string(Method model) {
  switch (model) {
    case Method::kRoofline:
      return "roofline";
    case Method::kTiles:
      return "tiles";
    case Method::kEvents:
      return "events";
  }
  return "";
}

Method method_named(std::string_view name) {
  std::string list;
  for (const Method each : {Method::kRoofline, Method::kTiles, Method::kEvents}) {
    if (to_string(each) == name) return each;
    list.append(list.empty() ? "" : ", ").append(to_string(each));
  }
  fail(ErrorKind::kUsage, "expected one of " + list + ", found '" + std::string(name) + "'");
}

Footprint footprint(const Workload& workload, const Split& split) {
  Footprint result;
  result.weights =
      workload.stored_weight_bytes > 0 ? workload.stored_weight_bytes : workload.weight_bytes();
  result.activations = largest(workload, {TensorRole::kInputs, TensorRole::kOutputs});
  result.states = workload.state_bytes;
  result.training = workload.training_bytes;
  const auto chips = static_cast<double>(split.chips);
  if (split.kind == SplitKind::kData) {
    result.activations /= chips;
    result.states /= chips;
  } else {
    result.weights /= chips;
    result.states /= chips;
    result.training /= chips;
  }
  return result;
}

Estimate estimate(const Workload& workload, const Accelerator& accelerator,
                  const EstimateSettings& options) {
  check_split(workload, accelerator, options.split);
  const OperationModel model(accelerator, workload, options.model);
  check_units(workload, model);
  Estimate result{.workload = workload.name,
                  .accelerator = accelerator.name,
                  .comparison = accelerator.comparison,
                  .method = std::string(to_string(options.model)),
                  .devices = options.split.chips,
                  .split = std::string(to_string(options.split.kind)),
                  .batch = workload.batch};
  for (const Memory& memory : accelerator.memories) result.memories.push_back(memory.name);
  result.footprint = footprint(workload, options.split);
  check_room(result.footprint, accelerator);
  for (std::size_t i = 0; i < workload.operations.size(); ++i) {
    const Operation part = part_of(workload.operations[i], options.split, workload.batch);
    OperationEstimate each = model.estimate(part, i, result.seconds, &result.timeline);
    add_exchange(workload.operations[i], accelerator, options.split, each);
    if (each.link_s > each.seconds) each.bound = "link";
    each.seconds += each.link_s;
    result.seconds += each.seconds;
    result.energy_j += each.energy_j;
    result.operations.push_back(std::move(each));
  }
  add_pipeline(workload, accelerator, options.split, result);
  result.host_s = host_seconds(workload, accelerator);
  const auto chips = static_cast<double>(options.split.chips);
  // Of a pipeline, one chip works at a time on a batch.
  const double working = options.split.kind == SplitKind::kPipeline ? 1 : chips;
  result.idle_j = accelerator.idle_w * chips * result.seconds;
  result.active_j = accelerator.active_w * working * result.seconds;
  result.energy_j = working * result.energy_j + result.idle_j + result.active_j;
  return result;
}

}  // namespace halftone::accel
