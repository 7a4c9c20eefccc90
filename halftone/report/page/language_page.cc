// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/language_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "halftone/report/language.h"
#include "halftone/report/page/drawing.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/language_sections.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/page/verdict.h"
#include "halftone/report/table.h"

namespace halftone::report::page {
namespace {

constexpr double kMebibyte = 1024 * 1024;

std::string fact_row(const std::string& name, const std::string& value) {
  return fmt::format("<tr><th scope=row>{}</th><td>{}</td></tr>\n", markup(name), markup(value));
}

std::string facts_section(const LanguageReport& report) {
  std::string rows = fact_row("file size", format_bytes(report.file_bytes)) +
                     fact_row("parameters", std::to_string(report.parameters)) +
                     fact_row("bits per weight", format_number(report.bits_per_weight, 3));
  for (const auto& [name, value] : report.facts) rows += fact_row(name, value);
  return "<div class=scroll role=region tabindex=0 aria-label=Facts><table "
         "class=facts><caption>What "
         "the model is</caption>\n<tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string estimate_cell(const lm::Estimate& estimate, int digits) {
  return format_number(estimate.value, digits) + " ± " +
         format_number(estimate.standard_error, digits);
}

std::string texts_section(const LanguageReport& report) {
  if (report.evaluations.empty()) return "";
  const bool is_compared = report.evaluations.front().measures.reference.has_value();
  std::vector<HtmlTable::Column> columns = {{"text", false}, {"tokens"}, {"perplexity"}};
  if (is_compared) {
    for (const char* heading :
         {"reference", "ratio", "KL divergence, nats", "99 % at most", "same token, %"}) {
      columns.push_back({heading});
    }
  }
  HtmlTable table("Measures on texts, with standard errors" +
                      (is_compared ? ", beside " + report.reference : std::string()),
                  std::move(columns));
  for (const TextFileEvaluation& each : report.evaluations) {
    const lm::TextEvaluation& found = each.measures;
    const auto cell = [](const lm::Estimate& estimate, int digits) {
      return Cell{estimate_cell(estimate, digits), estimate.value};
    };
    std::vector<Cell> row = {
        Cell::of(each.text), {std::to_string(found.num_tokens)}, cell(found.perplexity, 4)};
    if (is_compared && found.reference) {
      const lm::TextComparison& reference = *found.reference;
      row.push_back(cell(reference.perplexity, 4));
      row.push_back(cell(reference.ratio, 5));
      row.push_back(cell(reference.mean_kl, 6));
      row.push_back(cell(reference.kl_99, 5));
      const lm::Estimate& same = reference.same_top;
      row.push_back(cell({100 * same.value, 100 * same.standard_error}, 2));
    }
    table.add_row(row);
  }
  return table.html();
}

std::string matrices_section(const LanguageReport& report) {
  HtmlTable table("Matrices", {{"matrix", false},
                               {"role", false},
                               {"block"},
                               {"type", false},
                               {"rows"},
                               {"columns"},
                               {"bits"},
                               {"bytes"}});
  for (const MatrixFigures& matrix : report.matrices) {
    table.add_row({Cell::of(matrix.name),
                   Cell::of(matrix.role),
                   matrix.block ? Cell{std::to_string(*matrix.block)} : Cell{"-", -1.0},
                   Cell::of(matrix.type),
                   {std::to_string(matrix.rows)},
                   {std::to_string(matrix.cols)},
                   Cell::number(matrix.bits, 3),
                   Cell::bytes(matrix.bytes)});
  }
  return table.html() +
         note("Norms, biases and other vectors take " + format_bytes(report.vector_bytes) + ".");
}

/// Sums over matrices of one key, in the order in which keys first come.
struct Share {
  std::string name;
  double bytes = 0;
  double elements = 0;
  std::size_t matrices = 0;
};
std::vector<Share> shares(const LanguageReport& report,
                          const std::function<std::string(const MatrixFigures&)>& key) {
  std::vector<Share> list;
  for (const MatrixFigures& matrix : report.matrices) {
    const std::string name = key(matrix);
    auto found = std::ranges::find(list, name, &Share::name);
    if (found == list.end()) found = list.insert(found, {name});
    found->bytes += static_cast<double>(matrix.bytes);
    found->elements += 8 * static_cast<double>(matrix.bytes) / matrix.bits;
    ++found->matrices;
  }
  return list;
}

std::string share_bars(const std::string& title, const std::vector<Share>& list, bool shows_bits) {
  std::vector<Bar> rows;
  for (const Share& each : list) {
    const double bits = 8 * each.bytes / each.elements;
    rows.push_back(
        {each.name, shows_bits ? bits : each.bytes / kMebibyte,
         fmt::format("{}: {} matri{}, {}, {} bits per weight", each.name, each.matrices,
                     each.matrices == 1 ? "x" : "ces",
                     format_bytes(static_cast<std::size_t>(each.bytes)), format_number(bits, 3))});
  }
  return "<figure>" + bars(title, rows) + "</figure>\n";
}

std::string shares_section(const LanguageReport& report) {
  if (report.matrices.empty()) return "";
  const auto role = [](const MatrixFigures& matrix) { return matrix.role; };
  const auto type = [](const MatrixFigures& matrix) { return matrix.type; };
  const auto block = [](const MatrixFigures& matrix) {
    return matrix.block ? "block " + std::to_string(*matrix.block) : "outside of blocks";
  };
  return "<div class=pair>\n" + share_bars("MiB by role", shares(report, role), false) +
         share_bars("MiB by type", shares(report, type), false) +
         share_bars("Bits per weight by block", shares(report, block), true) +
         share_bars("Bits per weight by role", shares(report, role), true) + "</div>\n";
}

/// The time of a token, by what is computed.
std::string parts_section(const LanguageReport& report) {
  if (report.parts.empty()) return "";
  std::vector<Bar> rows;
  double sum = 0;
  for (const TokenPart& part : report.parts) sum += part.seconds;
  const bool is_short = sum < 1e-3;
  for (const TokenPart& part : report.parts) {
    rows.push_back({part.name, (is_short ? 1e6 : 1e3) * part.seconds,
                    fmt::format("{}: {:.0f} % of a token", part.name, 100 * part.seconds / sum)});
  }
  const SpeedAtDepth& speed = report.speed->depths.front();
  return note(fmt::format(
             "{} tokens a second. A token reads {}, which takes {:.0f} % of what the memory "
             "gives in that time.",
             speed_text(speed.tokens_per_second), format_bytes(speed.bytes_per_token),
             100 * speed.bandwidth_share)) +
         "<figure>" +
         bars((is_short ? "Micro" : "Milli") + std::string("seconds of a token by part"), rows) +
         "</figure>\n";
}

Json speed_json(const std::optional<LanguageSpeed>& speed) {
  return speed ? Json::parse(report::to_json(*speed)) : Json();
}

Json parts_json(const std::vector<TokenPart>& parts) {
  Json list = Json::array();
  for (const TokenPart& part : parts)
    list.push_back({{"name", part.name}, {"seconds", part.seconds}});
  return list;
}

Json language_json(const LanguageContent& content) {
  const LanguageReport& report = content.report;
  Json facts = Json::object();
  for (const auto& [name, value] : report.facts) facts[name] = value;
  Json matrices = Json::array();
  for (const MatrixFigures& matrix : report.matrices) {
    matrices.push_back({{"name", matrix.name},
                        {"role", matrix.role},
                        {"block", matrix.block ? Json(*matrix.block) : Json()},
                        {"type", matrix.type},
                        {"rows", matrix.rows},
                        {"cols", matrix.cols},
                        {"weight_bits", matrix.bits},
                        {"bytes", matrix.bytes}});
  }
  Json texts = Json::array();
  for (const TextFileEvaluation& each : report.evaluations) {
    Json json = {{"text", each.text}};
    json.update(Json::parse(report::to_json(each.measures)));
    json.update(details_json(each.details));
    texts.push_back(std::move(json));
  }
  return {{"name", report.name},
          {"reference", report.reference.empty() ? Json() : Json(report.reference)},
          {"file_bytes", report.file_bytes},
          {"parameters", report.parameters},
          {"weight_bits", report.bits_per_weight},
          {"vector_bytes", report.vector_bytes},
          {"verdict", verdict_json(verdict_of(content))},
          {"speed", speed_json(report.speed)},
          {"reference_speed", speed_json(report.reference_speed)},
          {"parts", parts_json(report.parts)},
          {"facts", facts},
          {"layers", matrices},
          {"texts", texts},
          {"sensitivities", sensitivities_json(content.sensitivities)},
          {"missing", report.missing}};
}

}  // namespace

std::string to_html(const LanguageContent& content) {
  const LanguageReport& report = content.report;
  const Verdict verdict = verdict_of(content);
  const std::string subtitle = report.reference.empty() ? "" : "Beside " + report.reference;
  return document(
      report.name, subtitle,
      {{"summary", "Summary", verdict_html(verdict) + causes_html(verdict)},
       {"texts", "Texts", texts_section(report)},
       {"positions", "Loss by position", positions_section(report)},
       {"changed", "Changed tokens", changed_section(report), "The tokens that changed most"},
       {"types", "Types", types_section(content)},
       {"shares", "Size and bits", shares_section(report)},
       {"parts", "Time of a token", parts_section(report)},
       {"matrices", "Matrices", matrices_section(report)},
       {"sensitivities", "Sensitivity", sensitivities_section(content.sensitivities)},
       {"facts", "Facts", facts_section(report)},
       {"data", "Data", data_section()}},
      language_json(content));
}

std::string to_json(const LanguageContent& content) { return dump(language_json(content)); }

}  // namespace halftone::report::page
