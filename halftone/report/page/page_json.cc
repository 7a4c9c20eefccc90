// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/report/job_json.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/page/verdict.h"

namespace halftone::report::page {
namespace {

constexpr std::size_t kMaxListedClasses = 100;  ///< more make a large matrix

template <typename T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// A number with six digits, which a picture needs at most.
double short_number(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);  // whatever the locale
  return result;
}

Json short_list(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(short_number(value));
  return list;
}

Json histogram_json(const ValueHistogram& histogram) {
  Json json = {{"low", short_number(histogram.low)},
               {"high", short_number(histogram.high)},
               {"counts", histogram.counts}};
  if (histogram.num_zeros > 0) json["zeros"] = histogram.num_zeros;
  if (histogram.num_levels > 0) json["num_levels"] = histogram.num_levels;
  if (!histogram.levels.empty()) json["levels"] = short_list(histogram.levels);
  if (!histogram.thresholds.empty()) json["thresholds"] = short_list(histogram.thresholds);
  if (histogram.is_relative) json["is_relative"] = true;
  return json;
}

Json figures_json(const NetworkFigures& network, const LayerFigures& layer) {
  Json json = layer_json(layer.info);
  for (const char* key : {"weight_encoding", "activation_encoding"}) json.erase(key);  // of inspect
  if (!layer.reference_name.empty()) json["reference_name"] = layer.reference_name;
  if (layer.error) {
    json["sqnr_db"] = layer.error->sqnr_db;
    json["sqnr_alone_db"] = layer.error->sqnr_alone_db;
  }
  if (layer.weight_sqnr_db) json["weight_sqnr_db"] = *layer.weight_sqnr_db;
  if (layer.loss) json["loss"] = *layer.loss;
  if (layer.eight_bit_bytes) json["eight_bit_bytes"] = *layer.eight_bit_bytes;
  if (const runtime::PlanStep* step = step_of(network, layer)) {
    json["kernel"] = step->kernel;
    json["reason"] = step->reason;
  }
  if (const auto time = time_of(network, layer)) json["median_us"] = *time;
  if (layer.weights) {
    json["weight_histogram"] = histogram_json(*layer.weights);
    if (layer.weights_are_reference) json["weight_histogram"]["of_reference"] = true;
  }
  if (layer.inputs) json["input_histogram"] = histogram_json(*layer.inputs);
  return json;
}

Json node_json(const NodeFigures& node) {
  Json json = {{"name", node.name}, {"operator", node.op}, {"inputs", node.inputs}};
  if (node.layer) json["layer"] = *node.layer;
  return json;
}

Json confusion_json(const Confusion& found) {
  Json rows = Json::array();
  const auto count = static_cast<std::ptrdiff_t>(found.num_classes);
  for (auto row = found.counts.begin(); row != found.counts.end(); row += count) {
    rows.push_back(Json(std::vector<std::int64_t>(row, row + count)));
  }
  return rows;
}

Json causes_json(const LossCauses& causes) {
  return {{"kind", causes.kind}, {"samples", causes.num_samples}, {"worst", causes.worst}};
}

/// The network that the page is about has the times of all steps, as bench prints them; those of
/// others are with their layers.
Json network_json(const NetworkFigures& network, bool has_steps) {
  Json json = {{"name", network.name}};
  json.update(inspection_json(network.inspection));
  if (network.evaluation) json["evaluation"] = evaluation_json(*network.evaluation);
  if (network.confusion && network.confusion->num_classes <= kMaxListedClasses) {
    json["confusion"] = confusion_json(*network.confusion);
  }
  if (network.causes) json["causes"] = causes_json(*network.causes);
  json["layers"] = Json::array();
  for (const LayerFigures& layer : network.layers) {
    json["layers"].push_back(figures_json(network, layer));
  }
  if (network.profile) {
    json["bench"] = measurement_json(*network.plan, *network.profile);
    if (!has_steps) json["bench"].erase("layers");
  }
  return json;
}

Json graph_json(const NetworkFigures& network) {
  Json nodes = Json::array();
  for (const NodeFigures& node : network.nodes) nodes.push_back(node_json(node));
  return nodes;
}

Json worst_json(const ModelReport& report) {
  Json samples = Json::array();
  for (const SampleFigures& sample : report.worst) {
    samples.push_back({{"index", sample.index},
                       {"value", sample.badness},
                       {"predicted", sample.predicted},
                       {"reference_predicted", json_or_null(sample.reference_predicted)},
                       {"label", json_or_null(sample.label)}});
  }
  return {{"measure", to_string(report.measure)}, {"samples", samples}};
}

Json point_json(const SearchPoint& point) {
  Json json = {{"bytes", point.bytes}, {"loss", point.loss}};
  if (point.us) json["us"] = *point.us;
  if (point.pj) json["pj"] = *point.pj;
  return json;
}

Json search_json(const SearchFront& search) {
  Json front = Json::array();
  for (const SearchPoint& point : search.front) front.push_back(point_json(point));
  return {{"file", search.file},
          {"front", front},
          {"chosen", search.chosen ? point_json(*search.chosen) : Json()}};
}

Json training_json(const Training& training) {
  Json courses = Json::array();
  for (const TrainingCourse& course : training.courses) {
    Json rows = Json::array();
    for (const TrainingCourse::Row& row : course.rows) {
      Json json = {{course.unit, row.number}};
      for (std::size_t c = 0; c < course.columns.size(); ++c) {
        json[course.columns[c]] = json_or_null(row.values[c]);
      }
      rows.push_back(std::move(json));
    }
    courses.push_back({{"unit", course.unit}, {"rows", rows}});
  }
  return {{"file", training.file}, {"courses", courses}};
}

}  // namespace

Json page_json(const Content& content) {
  const ModelReport& report = content.report;
  Json json = {{"verdict", verdict_json(verdict_of(content))},
               {"model", network_json(report.model, true)}};
  if (!report.beside.empty()) json["beside"] = network_json(report.beside.front(), false);
  for (std::size_t i = 1; i < report.beside.size(); ++i) {
    json["more_beside"].push_back(network_json(report.beside[i], false));
  }
  if (report.reference) json["reference"] = network_json(*report.reference, false);
  if (!report.data.empty()) {
    json["data"] = {{"name", report.data}, {"samples", report.num_samples}};
  }
  if (!report.classes.empty()) json["classes"] = report.classes;
  if (!report.worst.empty()) json["worst"] = worst_json(report);
  if (!content.sensitivities.empty()) {
    json["sensitivities"] = sensitivities_json(content.sensitivities);
  }
  for (const SearchFront& search : content.searches) {
    json["searches"].push_back(search_json(search));
  }
  for (const Training& training : content.trainings) {
    json["trainings"].push_back(training_json(training));
  }
  if (content.live) json["live"] = {{"module_bytes", content.live->bytes.size()}};
  json["graph"] = graph_json(report.model);
  json["missing"] = report.missing;
  return json;
}

std::string to_json(const Content& content) { return dump(page_json(content)); }

}  // namespace halftone::report::page
