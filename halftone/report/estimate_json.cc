// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "halftone/report/estimate.h"
#include "halftone/report/fields.h"

namespace halftone::report {
namespace {

Json footprint_json(const v0::Footprint& need) {
  return {{"total", need.total()},
          {"weights", need.weights},
          {"activations", need.activations},
          {"states", need.states},
          {"training", need.training}};
}

Json matrix_json(const std::optional<v0::ProductShape>& product) {
  if (!product) return {};
  return {{"count", product->count},  {"rows", product->rows},     {"inner", product->inner},
          {"columns", product->cols}, {"inputs", product->inputs}, {"weights", product->weights}};
}

/// @param memory  its name
ResultFields traffic_fields(const v0::LevelTraffic& level, const std::string& memory) {
  return {{"memory", memory},
          {"bytes_read", level.bytes_read},
          {"bytes_written", level.bytes_written},
          {"seconds", level.seconds}};
}

ResultFields operation_fields(const v0::OperationEstimate& each,
                              const std::vector<std::string>& memories) {
  const auto fields_of = [&](const v0::LevelTraffic& level) {
    return traffic_fields(level, memories[level.memory]);
  };
  return {{"name", each.name},
          {"operator", each.op},
          {"unit", each.unit, "That computes it; \"-\" for what only moves bytes"},
          {"products", each.products},
          {"matrix", matrix_json(each.matrix),
           "`count` products y[rows, columns] = x[rows, inner] "
           "w[inner, columns]; null without"},
          {"tiles", each.tiles, "Pieces that are loaded from the outermost memory"},
          {"seconds", each.seconds},
          {"compute_seconds", each.compute_s},
          {"overhead_seconds", each.overhead_s},
          {"link_seconds", each.link_s},
          {"bound", each.bound, "\"compute\", the name of a memory, \"link\" or \"overhead\""},
          {"utilization", each.utilization, "Products over those at the peak rate"},
          {"energy_joules", each.energy_j},
          {"traffic", rows_json(each.traffic, fields_of), "By memory, outermost first"}};
}

ResultFields estimate_fields(const v0::HardwareEstimate& estimate) {
  const auto fields_of = [&](const v0::OperationEstimate& each) {
    return operation_fields(each, estimate.memories);
  };
  return {{"kind", "estimate"},
          {"workload", estimate.workload},
          {"accelerator", estimate.accelerator},
          {"comparison", or_null(estimate.comparison),
           "The error measured against real hardware; null: not measured"},
          {"model", estimate.method, "How closely hardware is modelled"},
          {"batch", estimate.batch, "Samples of the run"},
          {"devices", estimate.devices},
          {"split", estimate.split},
          {"seconds", estimate.seconds, "Of all operations, one after another"},
          {"interval_seconds", estimate.interval_s,
           "Between batches: `seconds`, or the slowest stage of a pipeline"},
          {"host_seconds", estimate.host_s,
           "To bring the first inputs and fetch the last outputs, beside `seconds`"},
          {"energy_joules", estimate.energy_j},
          {"idle_joules", estimate.idle_j, "Of the power that flows all the time"},
          {"active_joules", estimate.active_j, "Of leakage and clocks while chips work"},
          {"watts", estimate.watts(), "The mean power"},
          {"energy_is_guess", true},
          {"memory_bytes", footprint_json(estimate.footprint),
           "Kept in the outermost memory of each chip: \"total\", and of it \"weights\", "
           "\"activations\", \"states\" and \"training\""},
          {"layers", rows_json(estimate.operations, fields_of), "In order of execution"}};
}

ResultFields batch_fields(const v0::BatchPoint& each) {
  return {{"batch", each.batch, "Sequences"},
          {"seconds", each.seconds, "Of one step, a token for each sequence"},
          {"tokens_per_second", each.tokens_per_s()}};
}

ResultFields language_estimate_fields(const v0::LanguageEstimate& estimate) {
  return {
      {"kind", "estimate"},
      {"parameters", estimate.parameters,
       "Matrices and the embedding table, without norms and biases"},
      {"active_parameters", estimate.active_parameters, "Those that a token is multiplied with"},
      {"weights", estimate.weights,
       "What weights are stored as: \"int4\", or \"4.85 bits in the file\""},
      {"activations", estimate.activations},
      {"cache", estimate.cache},
      {"prompt_tokens", estimate.prompt_tokens},
      {"context_tokens", estimate.context_tokens},
      {"devices_needed", estimate.devices_needed,
       "Whose memory holds weights, cache and activations"},
      {"prompt", json_of(estimate_fields(estimate.prompt)), "Reading the prompt"},
      {"token", json_of(estimate_fields(estimate.token)), "Generating a token at the context"},
      {"batches", rows_json(estimate.batches, batch_fields),
       "The speed by sequences: powers of two, as far as the memory goes"}};
}

ResultFields executed_fields(const accel::Executed& each) {
  const bool ran = each.refusal.empty();
  return {{"name", each.name},
          {"equal_operations", each.equal},
          {"units", each.units},
          {"tiles", each.steps},
          {"estimated_bytes", each.estimated_bytes},
          {"moved_bytes", ran ? Json(each.moved_bytes) : Json()},
          {"refusal", or_null(each.refusal)}};
}

}  // namespace

std::string to_json(const v0::HardwareEstimate& estimate) {
  return dump(json_of(estimate_fields(estimate)));
}

std::string to_json(const v0::LanguageEstimate& estimate) {
  return dump(json_of(language_estimate_fields(estimate)));
}

std::string to_json(const std::vector<accel::Executed>& executed) {
  return dump({{"executed", rows_json(executed, executed_fields)}});
}

std::string timeline_trace(const accel::Estimate& estimate) {
  constexpr double kMicroseconds = 1e6;
  std::vector<std::string> lanes;
  Json events = Json::array();
  for (const accel::Bar& bar : estimate.timeline) {
    auto lane = std::ranges::find(lanes, bar.lane);
    if (lane == lanes.end()) {
      lane = lanes.insert(lanes.end(), bar.lane);
      events.push_back({{"name", "thread_name"},
                        {"ph", "M"},
                        {"pid", 1},
                        {"tid", lane - lanes.begin() + 1},
                        {"args", {{"name", bar.lane}}}});
    }
    events.push_back({{"name", bar.name},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", lane - lanes.begin() + 1},
                      {"ts", kMicroseconds * bar.start_s},
                      {"dur", kMicroseconds * (bar.end_s - bar.start_s)}});
  }
  return dump({{"traceEvents", events}, {"displayTimeUnit", "ns"}});
}

ResultClasses hardware_results() {
  ResultClasses classes = {{"MemoryTraffic", traffic_fields({}, "")},
                           {"OperationEstimate", operation_fields({}, {})},
                           {"EstimateReport", estimate_fields({})},
                           {"BatchSpeed", batch_fields({})},
                           {"LanguageEstimateReport", language_estimate_fields({})}};
  for (ResultClasses& more : std::array{explore_results(), crossbar_results()}) {
    std::ranges::move(more, std::back_inserter(classes));
  }
  return classes;
}

}  // namespace halftone::report
