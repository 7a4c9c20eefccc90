// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "halftone/report/estimate.h"
#include "halftone/report/json.h"

namespace halftone::report {
namespace {

Json footprint_json(const accel::Footprint& need) {
  return {{"total", need.total()},
          {"weights", need.weights},
          {"activations", need.activations},
          {"states", need.states},
          {"training", need.training}};
}

Json operation_json(const accel::OperationEstimate& each, const accel::Accelerator& accelerator) {
  Json traffic = Json::array();
  for (const accel::LevelTraffic& level : each.traffic) {
    traffic.push_back({{"memory", accelerator.memories[level.memory].name},
                       {"bytes_read", level.bytes_read},
                       {"bytes_written", level.bytes_written},
                       {"seconds", level.seconds}});
  }
  Json matrix;
  if (each.products > 0) {
    matrix = {{"count", each.product.count},         {"rows", each.product.rows},
              {"inner", each.product.inner},         {"columns", each.product.cols},
              {"inputs", to_string(each.product.x)}, {"weights", to_string(each.product.w)}};
  }
  return {{"name", each.name},
          {"operator", each.op},
          {"unit", each.unit},
          {"products", each.products},
          {"matrix", matrix},
          {"tiles", each.tiles},
          {"seconds", each.seconds},
          {"compute_seconds", each.compute_s},
          {"overhead_seconds", each.overhead_s},
          {"link_seconds", each.link_s},
          {"bound", each.bound},
          {"utilization", each.utilization},
          {"energy_joules", each.energy_j},
          {"traffic", traffic}};
}

Json estimate_json(const accel::Estimate& estimate, const accel::Accelerator& accelerator) {
  Json operations = Json::array();
  for (const accel::OperationEstimate& each : estimate.operations) {
    operations.push_back(operation_json(each, accelerator));
  }
  return {{"kind", "estimate"},
          {"workload", estimate.workload},
          {"accelerator", estimate.accelerator},
          {"comparison", estimate.comparison.empty() ? Json() : Json(estimate.comparison)},
          {"model", std::string(to_string(estimate.model))},
          {"batch", estimate.batch},
          {"devices", estimate.split.chips},
          {"split", std::string(to_string(estimate.split.kind))},
          {"seconds", estimate.seconds},
          {"interval_seconds", estimate.interval_s},
          {"host_seconds", estimate.host_s},
          {"energy_joules", estimate.energy_j},
          {"idle_joules", estimate.idle_j},
          {"active_joules", estimate.active_j},
          {"watts", estimate.watts()},
          {"energy_is_guess", true},
          {"memory_bytes", footprint_json(estimate.footprint)},
          {"layers", operations}};
}

}  // namespace

std::string to_json(const accel::Estimate& estimate, const accel::Accelerator& accelerator) {
  return dump(estimate_json(estimate, accelerator));
}

std::string to_json(const accel::LanguageEstimate& estimate,
                    const accel::Accelerator& accelerator) {
  Json batches = Json::array();
  for (const accel::BatchPoint& each : estimate.batches) {
    batches.push_back({{"batch", each.batch},
                       {"seconds", each.seconds},
                       {"tokens_per_second", each.tokens_per_s()}});
  }
  return dump({{"kind", "estimate"},
               {"parameters", estimate.model.parameters()},
               {"active_parameters", estimate.model.active_parameters()},
               {"weights", estimate.weights_text()},
               {"activations", to_string(estimate.settings.activations)},
               {"cache", to_string(estimate.settings.cache)},
               {"prompt_tokens", estimate.settings.prompt},
               {"context_tokens", estimate.settings.context},
               {"devices_needed", estimate.chips_needed},
               {"prompt", estimate_json(estimate.prompt, accelerator)},
               {"token", estimate_json(estimate.token, accelerator)},
               {"batches", batches}});
}

std::string to_json(const std::vector<accel::Executed>& executed) {
  Json list = Json::array();
  for (const accel::Executed& each : executed) {
    const bool ran = each.refusal.empty();
    list.push_back({{"name", each.name},
                    {"equal_operations", each.equal},
                    {"units", each.units},
                    {"tiles", each.steps},
                    {"estimated_bytes", each.estimated_bytes},
                    {"moved_bytes", ran ? Json(each.moved_bytes) : Json()},
                    {"refusal", ran ? Json() : Json(each.refusal)}});
  }
  return dump({{"executed", list}});
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

}  // namespace halftone::report
