// SPDX-License-Identifier: Apache-2.0
// Weights, activations, worst samples, and results of other verbs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/page/png.h"
#include "halftone/report/table.h"

namespace halftone::report::page {
namespace {

std::string sample_card(const ModelReport& report, const SampleFigures& sample) {
  const auto name = [&](std::int64_t index) { return markup(class_name(report, index)); };
  std::string picture;
  if (sample.picture) {
    picture = fmt::format("<img alt=\"Sample {}\" width={} height={} src=\"{}\">", sample.index,
                          sample.picture->width, sample.picture->height,
                          data_address(png(*sample.picture)));
  }
  std::string lines = fmt::format("sample {}<br>", sample.index);
  if (sample.label) lines += fmt::format("label {}<br>", name(*sample.label));
  if (sample.reference_predicted) {
    lines += fmt::format("reference {}<br>", name(*sample.reference_predicted));
  }
  const bool is_wrong = sample.label ? *sample.label != sample.predicted
                                     : sample.reference_predicted != sample.predicted;
  lines += fmt::format("model {}{}{}<br>", is_wrong ? "<span class=wrong>" : "",
                       name(sample.predicted), is_wrong ? " (wrong)</span>" : "");
  return fmt::format("<div class=card>{}{}{}</div>\n", picture, lines,
                     format_number(sample.badness, 4));
}

std::string measure_text(SampleMeasure measure) {
  switch (measure) {
    case SampleMeasure::kDivergence:
      return "The samples whose class probabilities are farthest from those of the reference: KL "
             "divergence in nats, below each.";
    case SampleMeasure::kSquaredError:
      return "The samples whose outputs are farthest from those of the reference: squared error, "
             "below each.";
    case SampleMeasure::kLoss:
      break;
  }
  return "The samples to whose label the network gives the least probability: its negative "
         "logarithm, below each.";
}

std::string course_html(const TrainingCourse& course) {
  std::vector<HtmlTable::Column> columns{{course.unit}};
  for (const std::string& column : course.columns) columns.push_back({column});
  HtmlTable table("Course by " + course.unit, std::move(columns));
  for (const TrainingCourse::Row& row : course.rows) {
    std::vector<Cell> cells{{std::to_string(row.number)}};
    for (const auto& value : row.values) cells.push_back(Cell::number(value, 5));
    table.add_row(cells);
  }
  return course_pictures(course) + table.html();
}

}  // namespace

std::string samples_section(const ModelReport& report) {
  if (report.worst.empty()) return "";
  std::string cards;
  for (const SampleFigures& sample : report.worst) cards += sample_card(report, sample);
  return note(measure_text(report.measure)) + "<div class=samples>\n" + cards + "</div>\n";
}

std::string searches_section(const std::vector<SearchFront>& searches) {
  std::string result;
  for (const SearchFront& search : searches) {
    HtmlTable table("Choices that no other one beats, as predicted, of " + search.file,
                    {{"bytes"}, {"loss"}, {"us"}, {"pJ"}, {"", false}});
    const auto add = [&](const SearchPoint& point, const std::string& what) {
      table.add_row({Cell::bytes(static_cast<std::size_t>(std::max(point.bytes, 0.0))),
                     Cell::number(point.loss, 5), Cell::number(point.us, 2),
                     Cell::number(point.pj, 0), Cell::of(what)});
    };
    for (const SearchPoint& point : search.front) add(point, "");
    if (search.chosen) add(*search.chosen, "chosen, as measured");
    result += front_picture(search) + table.html();
  }
  return result;
}

std::string trainings_section(const std::vector<Training>& trainings) {
  std::string result;
  for (const Training& training : trainings) {
    result += "<h3>" + markup(training.file) + "</h3>\n";
    for (const TrainingCourse& course : training.courses) result += course_html(course);
  }
  return result;
}

}  // namespace halftone::report::page
