// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/json.h"

#include <cmath>

#include "halftone/report/fields.h"
#include "halftone/report/job_json.h"
#include "halftone/report/report.h"
#include "halftone/report/work.h"

namespace halftone::report {
namespace {

/// Extents, with the batch as the string "N".
Json shape_json(const ir::Shape& shape) {
  Json dims = Json::array();
  for (const ir::Dim dim : shape.dims()) {
    dims.push_back(ir::is_open(dim) ? Json(ir::to_string(dim)) : Json(dim));
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

Json step_json(const runtime::Plan& plan, const runtime::PlanStep& step, double median_us) {
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
          {"copied_bytes", plan.bytes_of(step.copied)},
          {"predicted_us", Json()}};
}

ResultFields system_fields(const NumberSystemInfo& system) {
  return {{"name", system.name, "As recipes name it"},
          {"family", system.family, "Such as \"learned\", \"integer\", \"float\""},
          {"min_bits", system.min_bits},
          {"max_bits", system.max_bits},
          {"blocks", system.blocks, "Which weights share a scale unless the recipe says"},
          {"scales", system.scales, "How scales are stored"},
          {"computed", system.computed, "How layers are computed with codes of up to 8 bits"},
          {"overflow", system.overflow,
           "What numbers beyond the largest become: \"saturate\", the largest; \"nan\""},
          {"formula", system.formula, "Of a level"},
          {"source", system.source}};
}

ResultFields device_fields(const v0::Device& device) {
  return {{"id", device.id, "Such as \"cpu\", \"cuda:1\"; of an interface without cards \"cuda\""},
          {"name", or_null(device.name), "Of the model"},
          {"driver", or_null(device.driver), "Of the processor the instruction set of kernels"},
          {"memory_bytes", device.memory_bytes == 0 ? Json() : Json(device.memory_bytes),
           "That it has; of the processor what is free"},
          {"problem", or_null(device.problem), "Why it cannot be used, and what to install"}};
}

Json ends_json(const std::optional<Ends>& ends) {
  return ends ? Json{ends->low, ends->high} : Json();
}

ResultFields encoding_fields(const EncodingInfo& info) {
  return {{"system", info.system, "The number system"},
          {"bits", info.bits},
          {"granularity", info.granularity},
          {"group_size", info.group_size == 0 ? Json() : Json(info.group_size)},
          {"scales", info.num_scales,
           "Their number; 0 with learned levels and if they are computed at run time"},
          {"scale", ends_json(info.scale),
           "The least and the largest; a number is scale (code - "
           "zero_point)"},
          {"zero_point", ends_json(info.zero_point), "Likewise; null without an offset"},
          {"range", ends_json(info.range), "The lowest and the highest level of all blocks"}};
}

Json encoding_json(const std::optional<EncodingInfo>& info) {
  return info ? json_of(encoding_fields(*info)) : Json();
}

ResultFields layer_fields(const LayerInfo& layer) {
  return {{"name", layer.name},
          {"operator", layer.op},
          {"weight_bits", bits_json(layer.weight_bits), "3.5: a code of 7 bits for two weights"},
          {"activation_bits", layer.activation_bits},
          {"arithmetic", arithmetic_json(layer.arithmetic),
           "\"bits\", \"integers\", \"float\"; null where there is no choice"},
          {"weights", layer.weights,
           "Type of the weights: \"basis(2 bits, channel, offset)[700, 784]\""},
          {"weight_bytes", layer.weight_bytes},
          {"weight_encoding", encoding_json(layer.weight_encoding), "Null for plain numbers"},
          {"activation_encoding", encoding_json(layer.activation_encoding),
           "Of the input, or of the states that the layer multiplies; null for plain numbers"}};
}

ResultFields inspection_fields(const Inspection& inspection) {
  Json operators = Json::object();
  for (const auto& [name, count] : inspection.operators) operators[name] = count;
  return {{"format", inspection.format},
          {"parameters", inspection.parameters},
          {"bytes", inspection.file_bytes, "Of the file and its external data"},
          {"inputs", ports_json(inspection.inputs)},
          {"outputs", ports_json(inspection.outputs)},
          {"states", ports_json(inspection.states), "What the network remembers from run to run"},
          {"operators", operators, "How often each operator occurs"}};
}

ResultFields fitted_layer_fields(const compress::LayerReport& layer) {
  const auto& range = layer.activation_range;
  return {
      {"name", layer.name},
      {"operator", layer.op},
      {"weight_bits", bits_json(layer.weight_bits), "3.5: a code of 7 bits for two weights"},
      {"activation_bits", layer.activation_bits},
      {"activation_range", range ? Json{range->low, range->high} : Json(),
       "Lowest and highest level of the input, or of the states that the layer multiplies; null "
       "if it is float32 or its scales are computed at run time"},
      {"sqnr_db", layer.sqnr_db,
       "Of the outputs on the samples, 10 log10(sum y^2 / sum (y - z)^2) of y in the float "
       "network and z in the new one; null without an error"},
      {"weight_sqnr_db", layer.weight_sqnr_db,
       "The same of the weights alone; null if they stay float"},
      {"float_bytes", layer.float_bytes, "Of the float weights"},
      {"encoded_bytes", layer.encoded_bytes, "Of codes and bases, or of weights that stay"}};
}

ResultFields skipped_block_fields(const compress::SkippedBlock& block) {
  return {{"block", block.block, "The name of its last layer"},
          {"reason", block.reason, "Such as an operator without a gradient"}};
}

ResultFields quantize_fields(const QuantizeReport& report) {
  return {
      {"input_bytes", report.input_bytes,
       "Of the file or the bytes of the network before; 0 if it came from neither"},
      {"output_bytes", report.output_bytes,
       "Of the file written; without one, of the network as a .circle file"},
      {"input_weight_bytes", report.input_weight_bytes,
       "Of the constants before, which a file has beside names and structure"},
      {"output_weight_bytes", report.output_weight_bytes, "And after"},
      {"seconds", report.seconds},
      {"layers", rows_json(report.layers, fitted_layer_fields)},
      {"equalized_pairs", report.equalized_pairs, "Consecutive layers whose scales were balanced"},
      {"skipped_blocks", rows_json(report.skipped_blocks, skipped_block_fields),
       "Blocks that were not reconstructed"},
      {"warnings", report.warnings, "A line each, such as samples that were left out"}};
}

ResultFields comparison_fields(const compress::Comparison& reference) {
  return {{"value", or_null(reference.value), "Its accuracy, if there are labels"},
          {"agreement", reference.agreement, "Share of samples with the same answer"},
          {"sqnr_db", reference.sqnr_db, "Of the output; null: equal"},
          {"kl", or_null(reference.divergence),
           "Divergence of the probabilities, in nats per sample; null: no classifier"}};
}

ResultFields evaluation_fields(const compress::Evaluation& evaluation) {
  ResultFields fields = {
      {"metric", evaluation.metric, "\"accuracy\" with labels, else \"agreement\""},
      {"value", evaluation.value},
      {"samples", evaluation.samples}};
  if (evaluation.reference) {
    fields.push_back({"reference", json_of(comparison_fields(*evaluation.reference))});
  }
  return fields;
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
  return dump({{"systems", rows_json(systems, system_fields)}});
}

std::string to_json(const std::vector<v0::Device>& devices) {
  return dump({{"devices", rows_json(devices, device_fields)}});
}

std::string to_json(const NumberSystemLevels& levels) {
  Json json = json_of(system_fields(levels.system));
  json["bits"] = levels.bits;
  Json list = Json::array();
  // JSON has no NaN and no infinity: codes of no number are null.
  for (const float level : levels.levels) {
    list.push_back(std::isfinite(level) ? Json(level) : Json());
  }
  json["levels"] = list;
  return dump(json);
}

Json layer_json(const LayerInfo& layer) { return json_of(layer_fields(layer)); }

Json inspection_json(const Inspection& inspection) {
  return json_of(inspection_fields(inspection));
}

std::string to_json(const Inspection& inspection) {
  Json json = inspection_json(inspection);
  json["layers"] = rows_json(inspection.layers, layer_fields);
  if (!inspection.warnings.empty()) json["warnings"] = inspection.warnings;
  if (!inspection.work.empty()) json["work"] = work_json(inspection.work);
  return dump(json);
}

std::string to_json(const QuantizeReport& report) { return dump(json_of(quantize_fields(report))); }

Json evaluation_json(const compress::Evaluation& evaluation) {
  return json_of(evaluation_fields(evaluation));
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
          {"accelerator", Json()},
          {"predicted_us", Json()},
          {"memory",
           {{"weights", plan.packed_weight_bytes()},
            {"arena", plan.arena_bytes()},
            {"constants", plan.constant_bytes()}}},
          {"layers", layers}};
}

std::string to_json(const MeasuredPlan& measurement) {
  Json json = measurement_json(*measurement.plan, measurement.profile);
  if (const std::optional<PredictedTimes>& predicted = measurement.predicted) {
    json["accelerator"] = predicted->accelerator;
    json["predicted_us"] = predicted->run_us;
    for (std::size_t i = 0; i < json["layers"].size(); ++i) {
      json["layers"][i]["predicted_us"] = predicted->step_us[i];
    }
  }
  return dump(json);
}

ResultClasses network_results() {
  Inspection inspection;
  ResultFields inspected = inspection_fields(inspection);
  inspected.push_back({"layers", {}, "With weights, in order of execution"});
  inspected.push_back(
      {"work", {}, "Products, operations and bytes of every node, if they were asked for"});
  const compress::Evaluation evaluation{.metric = {}, .reference = compress::Comparison{}};
  return {{"NumberSystem", system_fields({})},
          {"Device", device_fields({})},
          {"LayerEncoding", encoding_fields({})},
          {"Layer", layer_fields({})},
          {"Inspection", inspected},
          {"LayerReport", fitted_layer_fields({})},
          {"SkippedBlock", skipped_block_fields({})},
          {"QuantizeReport", quantize_fields({})},
          {"Comparison", comparison_fields({})},
          {"Evaluation", evaluation_fields(evaluation)}};
}

}  // namespace halftone::report
