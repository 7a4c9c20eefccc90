// SPDX-License-Identifier: Apache-2.0
// Which classes a network takes for which: the confusion matrix.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/page_parts.h"

namespace halftone::report::page {
namespace {

constexpr std::size_t kMaxMatrixClasses = 40;
constexpr std::size_t kMaxPairs = 20;

/// Samples of a class that got the answer of another.
struct Mistake {
  std::size_t label;
  std::size_t answer;
  std::int64_t count;
  std::int64_t in_reference;  ///< the same of the reference
};

std::int64_t count_in(const NetworkFigures* network, std::size_t label, std::size_t answer) {
  if (network == nullptr || !network->confusion) return 0;
  const Confusion& found = *network->confusion;
  if (std::max(label, answer) >= found.num_classes) return 0;
  return found.counts[label * found.num_classes + answer];
}

/// The most frequent first.
std::vector<Mistake> mistakes_of(const ModelReport& report) {
  const NetworkFigures* reference = report.reference ? &*report.reference : nullptr;
  const Confusion& found = *report.model.confusion;
  std::vector<Mistake> list;
  for (std::size_t i = 0; i < found.num_classes; ++i) {
    for (std::size_t j = 0; j < found.num_classes; ++j) {
      const std::int64_t count = found.counts[i * found.num_classes + j];
      if (i != j && count > 0) list.push_back({i, j, count, count_in(reference, i, j)});
    }
  }
  std::ranges::stable_sort(list,
                           [](const Mistake& a, const Mistake& b) { return a.count > b.count; });
  return list;
}

std::string name_of(const ModelReport& report, std::size_t index) {
  return class_name(report, static_cast<std::int64_t>(index));
}

/// "Most often cat is taken for dog: 12 of 98 samples, 7 in the reference."
std::string mistake_text(const ModelReport& report, const Mistake& mistake) {
  const Confusion& found = *report.model.confusion;
  const auto row =
      found.counts.begin() + static_cast<std::ptrdiff_t>(mistake.label * found.num_classes);
  const std::int64_t samples =
      std::accumulate(row, row + static_cast<std::ptrdiff_t>(found.num_classes), std::int64_t{0});
  std::string text =
      fmt::format("Most often {} is taken for {}: {} of {} samples", name_of(report, mistake.label),
                  name_of(report, mistake.answer), mistake.count, samples);
  if (report.reference) text += fmt::format(", {} by the reference", mistake.in_reference);
  return text + ".";
}

std::string matrix_html(const ModelReport& report) {
  const Confusion& found = *report.model.confusion;
  std::string head = "<th scope=col>label</th>";
  std::string rows;
  for (std::size_t i = 0; i < found.num_classes; ++i) {
    head += "<th scope=col>" + markup(name_of(report, i)) + "</th>";
    std::string cells;
    std::int64_t most = 0;  // of the mistakes of a row, which has its own scale
    std::int64_t samples = 0;
    for (std::size_t j = 0; j < found.num_classes; ++j) {
      const std::int64_t count = found.counts[i * found.num_classes + j];
      samples += count;
      if (i != j) most = std::max(most, count);
    }
    for (std::size_t j = 0; j < found.num_classes; ++j) {
      const std::int64_t count = found.counts[i * found.num_classes + j];
      const auto share =
          static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(samples, 1));
      const char* kind = i == j ? " class=right" : "";
      if (count == 0) {
        cells += "<td></td>";
      } else {
        cells += fmt::format("<td{} style=--a:{:.0f}%>{}</td>", kind, 100 * share, count);
      }
    }
    rows += fmt::format("<tr><th scope=row>{}</th>{}</tr>\n", markup(name_of(report, i)), cells);
  }
  return fmt::format(
      "<div class=scroll role=region tabindex=0 aria-label=Classes><table class=matrix>"
      "<caption>Samples by label (rows) and answer (columns)</caption>\n<thead><tr>{}</tr></thead>"
      "\n<tbody>\n{}</tbody></table></div>\n",
      head, rows);
}

std::string pairs_html(const ModelReport& report, const std::vector<Mistake>& mistakes) {
  HtmlTable table("The most frequent mistakes",
                  {{"label", false}, {"answer", false}, {"samples"}, {"in the reference"}});
  for (std::size_t i = 0; i < std::min(mistakes.size(), kMaxPairs); ++i) {
    const Mistake& each = mistakes[i];
    table.add_row({Cell::of(name_of(report, each.label)),
                   Cell::of(name_of(report, each.answer)),
                   {std::to_string(each.count)},
                   {report.reference ? std::to_string(each.in_reference) : "-"}});
  }
  return table.empty() ? "" : table.html();
}

}  // namespace

std::string classes_section(const ModelReport& report) {
  if (!report.model.confusion || report.model.confusion->num_classes < 2) return "";
  const std::vector<Mistake> mistakes = mistakes_of(report);
  std::string html =
      note(mistakes.empty() ? "All answers are right." : mistake_text(report, mistakes.front()));
  const bool is_small = report.model.confusion->num_classes <= kMaxMatrixClasses;
  html += is_small ? matrix_html(report) : pairs_html(report, mistakes);
  if (report.classes.empty()) html += note("With --classes, the classes have their names.");
  return html;
}

}  // namespace halftone::report::page
