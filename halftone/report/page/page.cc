// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/page.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "halftone/report/page/html.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/page/picture.h"

namespace halftone::report::page {
namespace {

/// Nothing on the page comes from anywhere else, and scripts are those of the page.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// JSON inside a script element: its texts have no markup.
std::string embedded(const Json& json) {
  std::string result;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

std::vector<Section> sections_of(const Content& content) {
  const ModelReport& report = content.report;
  return {{"summary", "Summary", summary_section(report)},
          {"layers", "Layers", layers_section(report)},
          {"charts", "Error, size and time", charts_section(report.model)},
          {"beside", "Side by side", beside_section(report)},
          {"values", "Weights and activations", values_section(report.model)},
          {"graph", "Graph", graph_section(report.model)},
          {"steps", "Other steps", steps_section(report.model)},
          {"samples", "Worst samples", samples_section(report)},
          {"sensitivities", "Sensitivity", sensitivities_section(content.sensitivities)},
          {"searches", "Search", searches_section(content.searches)},
          {"trainings", "Training", trainings_section(content.trainings)},
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

std::string document(const std::string& name, const std::vector<Section>& sections,
                     const Json& json) {
  std::string links;
  std::string body;
  for (const Section& each : sections) {
    if (each.content.empty()) continue;
    links += fmt::format("<li><a href=\"#{}-h\">{}</a></li>\n", each.id, each.heading);
    body += page_section(each.id, each.heading, each.content);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
      "<meta http-equiv=Content-Security-Policy content=\"{}\">\n"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
      "<title>{} - Halftone report</title>\n<style>{}{}</style>\n</head>\n<body>\n"
      "<a class=skip href=\"#main\">Skip to the content</a>\n"
      "<header><button id=theme type=button hidden>Theme</button><h1>{}</h1>\n"
      "<nav aria-label=Sections><ul>\n{}</ul></nav></header>\n"
      "<main id=main tabindex=-1>\n{}</main>\n"
      "<script type=\"application/json\" id=halftone-report>{}</script>\n"
      "<script>{}</script>\n</body>\n</html>\n",
      kPolicy, markup(name), page_style(), picture_style(), markup(name), links, body,
      embedded(json), page_script());
}

std::string data_section() {
  return note(
      "All numbers of this page are in it as JSON, in the element with the id halftone-report.");
}

std::string to_html(const Content& content) {
  return document(content.report.model.name, sections_of(content), page_json(content));
}

}  // namespace halftone::report::page
