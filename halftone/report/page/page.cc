// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/page.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/page/verdict.h"

namespace halftone::report::page {
namespace {

/// "Layers: 3 of 20 cause 60 % of the loss"
std::string layers_heading(const ModelReport& report, const Verdict& verdict) {
  double share = 0;
  for (const VerdictCause& cause : verdict.causes) share += cause.share;
  if (verdict.causes.empty()) return "";
  return fmt::format("Layers: {} of {} {} {:.0f} % of the {}", verdict.causes.size(),
                     report.model.layers.size(), verdict.causes.size() == 1 ? "causes" : "cause",
                     100 * share, verdict.share_of);
}

/// "Beside float.onnx, on 761 samples of test.bin."
std::string subtitle_of(const ModelReport& report) {
  std::string text = report.reference ? "Beside " + report.reference->name : "";
  if (!report.data.empty()) {
    text += fmt::format("{} {} samples of {}", text.empty() ? "On" : ", on", report.num_samples,
                        report.data);
  }
  return text;
}

std::string beside_heading(const ModelReport& report) {
  const std::size_t count = 1 + report.beside.size() + (report.reference ? 1 : 0);
  return fmt::format("{} networks side by side", count);
}

std::string samples_heading(const ModelReport& report) {
  const auto& own = report.model.evaluation;
  if (!own || own->metric != "accuracy") return "";
  const double wrong = (1 - own->value) * static_cast<double>(own->samples);
  return fmt::format("{:.0f} of {} answers are wrong: the worst", wrong, own->samples);
}

std::vector<Section> sections_of(const Content& content) {
  const ModelReport& report = content.report;
  const Verdict verdict = verdict_of(content);
  return {{"summary", "Summary",
           verdict_html(verdict) + strip_picture(report.model) + causes_html(verdict)},
          {"live", "Try it", live_section(content), "Try the network: it runs in this page"},
          {"layers", "Layers", layers_section(report), layers_heading(report, verdict)},
          {"beside", "Side by side", beside_section(report), beside_heading(report)},
          {"graph", "Graph", graph_section(report.model)},
          {"values", "Weights and activations", values_section(report.model),
           "Weights and activations, the layers that lose most first"},
          {"classes", "Classes", classes_section(report)},
          {"samples", "Worst samples", samples_section(report), samples_heading(report)},
          {"sensitivities", "Sensitivity", sensitivities_section(content.sensitivities)},
          {"searches", "Search", searches_section(content.searches)},
          {"trainings", "Training", trainings_section(content.trainings)},
          {"steps", "Other steps", steps_section(report.model)},
          {"networks", "Networks", networks_section(report)},
          {"data", "Data", data_section()}};
}

}  // namespace

Content content_of(const SideFiles& files) {
  Content content;
  for (const SideFile& each : files.sensitivities) {
    content.sensitivities.push_back(sensitivity_of(each));
  }
  for (const SideFile& each : files.searches) content.searches.push_back(search_of(each));
  for (const SideFile& each : files.trainings) content.trainings.push_back(training_of(each));
  return content;
}

std::string to_html(const Content& content) {
  return document(content.report.model.name, subtitle_of(content.report), sections_of(content),
                  page_json(content), content.live.has_value());
}

}  // namespace halftone::report::page
