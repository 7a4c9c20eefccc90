// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/json.h"

#include <cmath>

#include "halftone/report/job_json.h"
#include "halftone/report/report.h"
#include "halftone/report/work.h"

namespace halftone::report {
namespace {

/// Extents, with the batch as the string "N".
Json shape_json(const ir::Shape& shape) {
  Json dims = Json::array();
  for (const ir::Dim dim : shape.dims()) {
    dims.push_back(ir::is_batch(dim) ? Json(ir::to_string(dim)) : Json(dim));
  }
  return dims;
}

Json arithmetic_json(const std::optional<ir::Arithmetic>& arithmetic) {
  if (!arithmetic) return {};
  return to_string(*arithmetic);
}

Json measured_json(const std::optional<runtime::MeasuredMethod>& measured) {
  if (!measured) return {};
  const auto& [product, threads] = measured->way;
  return {{"kernel", product ? runtime::to_string(*product) : ""},
          {"threads", threads},
          {"us", measured->us}};
}

Json step_json(const runtime::Plan& plan, const runtime::Step& step, double median_us) {
  Json refused = Json::array();
  for (const runtime::Refusal& refusal : step.refused) {
    refused.push_back({{"kernel", refusal.kernel}, {"reason", refusal.reason}});
  }
  return {{"name", step.name},
          {"operator", step.op},
          {"kernel", step.kernel},
          {"arithmetic", runtime::text_of(step.arithmetic)},
          {"variant", step.body.variant.empty() ? Json() : Json(step.body.variant)},
          {"measured", measured_json(step.measured)},
          {"slow", step.slow.empty() ? Json() : Json(step.slow)},
          {"median_us", median_us},
          {"products", products_of(plan, step)},
          {"reason", step.reason},
          {"refused", refused},
          {"device", step.device == nullptr ? Json() : Json(plan.options().execution.device->id())},
          {"on_processor", step.on_processor.empty() ? Json() : Json(step.on_processor)},
          {"copied_bytes", plan.bytes_of(step.copied)}};
}

Json system_json(const NumberSystemInfo& system) {
  return {{"name", system.name},         {"family", system.family},
          {"min_bits", system.min_bits}, {"max_bits", system.max_bits},
          {"blocks", system.blocks},     {"scales", system.scales},
          {"computed", system.computed}, {"overflow", system.overflow},
          {"formula", system.formula},   {"source", system.source}};
}

}  // namespace

Json ports_json(const std::vector<PortInfo>& ports) {
  Json list = Json::array();
  for (const PortInfo& port : ports) {
    list.push_back({{"name", port.name},
                    {"shape", shape_json(port.type.shape)},
                    {"type", port.type.encoding.to_string()}});
  }
  return list;
}

std::string to_json(const std::vector<NumberSystemInfo>& systems) {
  Json list = Json::array();
  for (const NumberSystemInfo& system : systems) list.push_back(system_json(system));
  return dump({{"systems", list}});
}

std::string to_json(const std::vector<v0::Device>& devices) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json list = Json::array();
  for (const v0::Device& device : devices) {
    list.push_back({{"id", device.id},
                    {"name", or_null(device.name)},
                    {"driver", or_null(device.driver)},
                    {"memory_bytes", device.memory_bytes == 0 ? Json() : Json(device.memory_bytes)},
                    {"problem", or_null(device.problem)}});
  }
  return dump({{"devices", list}});
}

std::string to_json(const NumberSystemLevels& levels) {
  Json json = system_json(levels.system);
  json["bits"] = levels.bits;
  Json list = Json::array();
  // JSON has no NaN and no infinity: codes of no number are null.
  for (const float level : levels.levels) {
    list.push_back(std::isfinite(level) ? Json(level) : Json());
  }
  json["levels"] = list;
  return dump(json);
}

Json ends_json(const std::optional<Ends>& ends) {
  return ends ? Json{ends->low, ends->high} : Json();
}

Json encoding_json(const std::optional<EncodingInfo>& info) {
  if (!info) return {};
  return {{"system", info->system},
          {"bits", info->bits},
          {"granularity", info->granularity},
          {"group_size", info->group_size == 0 ? Json() : Json(info->group_size)},
          {"scales", info->num_scales},
          {"scale", ends_json(info->scale)},
          {"zero_point", ends_json(info->zero_point)},
          {"range", ends_json(info->range)}};
}

Json layer_json(const LayerInfo& layer) {
  return {{"name", layer.name},
          {"operator", layer.op},
          {"weight_bits", bits_json(layer.weight_bits)},
          {"activation_bits", layer.activation_bits},
          {"arithmetic", arithmetic_json(layer.arithmetic)},
          {"weights", layer.weights},
          {"weight_bytes", layer.weight_bytes},
          {"weight_encoding", encoding_json(layer.weight_encoding)},
          {"activation_encoding", encoding_json(layer.activation_encoding)}};
}

Json inspection_json(const Inspection& inspection) {
  Json operators = Json::object();
  for (const auto& [name, count] : inspection.operators) operators[name] = count;
  return {{"format", inspection.format},
          {"parameters", inspection.parameters},
          {"bytes", inspection.file_bytes},
          {"inputs", ports_json(inspection.inputs)},
          {"outputs", ports_json(inspection.outputs)},
          {"states", ports_json(inspection.states)},
          {"operators", operators}};
}

std::string to_json(const Inspection& inspection) {
  Json json = inspection_json(inspection);
  json["layers"] = Json::array();
  for (const LayerInfo& layer : inspection.layers) json["layers"].push_back(layer_json(layer));
  if (!inspection.warnings.empty()) json["warnings"] = inspection.warnings;
  if (!inspection.work.empty()) json["work"] = work_json(inspection.work);
  return dump(json);
}

std::string to_json(const QuantizeReport& report) {
  Json list = Json::array();
  for (const compress::LayerReport& layer : report.layers) {
    const auto& range = layer.activation_range;
    list.push_back({{"name", layer.name},
                    {"operator", layer.op},
                    {"weight_bits", bits_json(layer.weight_bits)},
                    {"activation_bits", layer.activation_bits},
                    {"activation_range", range ? Json{range->low, range->high} : Json()},
                    {"sqnr_db", layer.sqnr_db},
                    {"weight_sqnr_db", layer.weight_sqnr_db},
                    {"float_bytes", layer.float_bytes},
                    {"encoded_bytes", layer.encoded_bytes}});
  }
  Json skipped = Json::array();
  for (const compress::SkippedBlock& each : report.skipped_blocks) {
    skipped.push_back({{"block", each.block}, {"reason", each.reason}});
  }
  return dump({{"input_bytes", report.input_bytes},
               {"output_bytes", report.output_bytes},
               {"input_weight_bytes", report.input_weight_bytes},
               {"output_weight_bytes", report.output_weight_bytes},
               {"seconds", report.seconds},
               {"layers", list},
               {"equalized_pairs", report.equalized_pairs},
               {"skipped_blocks", skipped},
               {"warnings", report.warnings}});
}

Json evaluation_json(const compress::Evaluation& evaluation) {
  Json json = {
      {"metric", evaluation.metric}, {"value", evaluation.value}, {"samples", evaluation.samples}};
  if (evaluation.reference) {
    const compress::Comparison& reference = *evaluation.reference;
    json["reference"] = {{"value", reference.value ? Json(*reference.value) : Json()},
                         {"agreement", reference.agreement},
                         {"sqnr_db", reference.sqnr_db},
                         {"kl", reference.divergence ? Json(*reference.divergence) : Json()}};
  }
  return json;
}

std::string to_json(const compress::Evaluation& evaluation) {
  return dump(evaluation_json(evaluation));
}

std::string to_json(const std::vector<OutputFile>& outputs) {
  Json list = Json::array();
  for (const OutputFile& output : outputs) {
    list.push_back({{"file", output.file},
                    {"type", output.type.encoding.to_string()},
                    {"shape", shape_json(output.type.shape)}});
  }
  return dump({{"outputs", list}});
}

Json measurement_json(const runtime::Plan& plan, const runtime::Profile& profile) {
  Json layers = Json::array();
  for (std::size_t i = 0; i < plan.steps().size(); ++i) {
    layers.push_back(step_json(plan, plan.steps()[i], profile.step_median_us[i]));
  }
  return {{"batch", profile.batch},
          {"devices", profile.devices},
          {"threads", plan.options().threads},
          {"latency_us",
           {{"median", profile.median_us}, {"p10", profile.p10_us}, {"p99", profile.p99_us}}},
          {"memory",
           {{"weights", plan.packed_weight_bytes()},
            {"arena", plan.arena_bytes()},
            {"constants", plan.constant_bytes()}}},
          {"layers", layers}};
}

std::string to_json(const Measurement& measurement) {
  Json json = measurement_json(*measurement.plan, measurement.profile);
  const std::optional<PredictedTimes>& predicted = measurement.predicted;
  json["accelerator"] = predicted ? Json(predicted->accelerator) : Json();
  json["predicted_us"] = predicted ? Json(predicted->run_us) : Json();
  for (std::size_t i = 0; i < json["layers"].size(); ++i) {
    json["layers"][i]["predicted_us"] = predicted ? Json(predicted->step_us[i]) : Json();
  }
  return dump(json);
}

}  // namespace halftone::report
