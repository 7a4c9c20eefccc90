// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/report/page/drawing.h"
#include "halftone/report/table.h"

namespace halftone::report::page {
namespace {

/// A number as scripts read it.
std::string sort_text(double value) {
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{:.7g}", value);
}

/// A text as a string of CSS inside an attribute with quotes.
std::string css_string(const std::string& content) {
  std::string result = "'";
  for (const char c : content) {
    const bool is_special = c == '\'' || c == '\\' || c == '<';
    result += is_special ? fmt::format("\\{:x} ", static_cast<int>(c)) : std::string(1, c);
  }
  return markup(result) + "'";
}

}  // namespace

Cell Cell::of(const std::string& content) { return {markup(content)}; }

Cell Cell::number(std::optional<double> value, int digits) {
  if (!value) return {"-", -HUGE_VAL};
  if (std::isinf(*value) && *value > 0) return {"exact", HUGE_VAL};
  return {format_number(*value, digits), value};
}

Cell Cell::rounded(std::optional<double> value, int digits) {
  Cell cell = number(value, digits);
  if (cell.value && std::isfinite(*cell.value)) cell.value.reset();
  return cell;
}

Cell Cell::bytes(std::optional<std::size_t> bytes) {
  if (!bytes) return {"-", -HUGE_VAL};
  return {format_bytes(*bytes), static_cast<double>(*bytes)};
}

Cell Cell::with_bar(std::optional<double> shown, double largest) const {
  Cell cell = *this;
  if (shown && largest > 0) cell.bar = std::clamp(*shown / largest, 0.0, 1.0);
  return cell;
}

void HtmlTable::add_row(const std::vector<Cell>& cells, const RowLook& look) {
  HALFTONE_ASSERT(cells.size() == columns_.size());
  rows_ += "<tr" + (look.id.empty() ? "" : " id=" + look.id) +
           (look.heat ? fmt::format(" class=c{}", *look.heat) : "") + ">";
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const char* tag = c == 0 ? "th" : "td";
    std::string attributes = c == 0 ? " scope=row" : "";
    // A number that is shown in full sorts by its text.
    const std::optional<double>& value = cells[c].value;
    if (value && fmt::format("{}", *value) != cells[c].html) {
      attributes += " data-v=" + sort_text(*value);
    }
    if (!cells[c].title.empty()) attributes += " title=\"" + markup(cells[c].title) + "\"";
    if (cells[c].bar) attributes += fmt::format(" style=--w:{:.0f}%", 100 * *cells[c].bar);
    rows_ += fmt::format("<{}{}>{}</{}>", tag, attributes, cells[c].html, tag);
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::html() const {
  std::string head;
  std::string classes = "sortable";  // r2: numbers in column 2, at the right
  std::string labels;                // the headings, for narrow windows
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (column.is_number) classes += fmt::format(" r{}", c);
    if (c > 0 && !column.is_wide) labels += fmt::format("--l{}:{};", c, css_string(column.heading));
    const char* kind = column.is_number ? " class=n" : column.is_wide ? " class=why" : "";
    head += fmt::format("<th scope=col{}{}><button type=button>{}</button></th>", kind,
                        column.title.empty() ? "" : " title=\"" + markup(column.title) + "\"",
                        markup(column.heading));
  }
  return fmt::format(
      "<div class=scroll role=region tabindex=0 aria-label=\"{0}\"><table class=\"{3}\" "
      "style=\"{4}\">"
      "<caption>{0}</caption>\n<thead><tr>{1}</tr></thead>\n<tbody>\n{2}</tbody></table></div>\n",
      markup(caption_), head, rows_, classes, labels);
}

std::string page_section(const std::string& id, const std::string& heading,
                         const std::string& content) {
  if (content.empty()) return "";
  return fmt::format("<section aria-labelledby={0}-h><h2 id={0}-h>{1}</h2>\n{2}</section>\n", id,
                     markup(heading), content);
}

std::string note(const std::string& content) {
  return "<p class=note>" + markup(content) + "</p>\n";
}

}  // namespace halftone::report::page
