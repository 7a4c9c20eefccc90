// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/language_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/heat.h"
#include "halftone/report/page/html.h"
#include "halftone/report/table.h"

namespace halftone::report::page {
namespace {

/// A text for people: with its line feeds.
std::string text_html(const std::string& text) {
  std::string shown;
  for (const char c : text) shown += c == '\n' ? std::string("↵") : std::string(1, c);
  return markup(shown);
}

std::string token_html(const std::string& token) {
  const bool is_blank = token.find_first_not_of(' ') == std::string::npos;
  return "<code>" + (is_blank ? "␣" : text_html(token)) + "</code>";
}

std::string position_plot(const TextFileEvaluation& text, bool is_kl) {
  Plot picture{is_kl ? "Divergence by position, " + text.text : "Loss by position, " + text.text,
               "position in the window",
               is_kl ? "KL, nats a token" : "loss, nats a token",
               {},
               true,
               false};
  Series series{"", {}};
  for (const PositionLoss& each : text.details.positions) {
    const lm::Estimate& found = is_kl ? each.kl : each.loss;
    const auto middle = std::sqrt(static_cast<double>(each.first) * static_cast<double>(each.last));
    series.points.push_back({middle, found.value,
                             fmt::format("{} to {}: {:.4g} ± {:.2g}", each.first, each.last,
                                         found.value, found.standard_error)});
  }
  picture.series.push_back(std::move(series));
  return "<figure>" + plot(picture) + "</figure>\n";
}

/// The loss of each matrix in its own type, if a table has most of them.
std::map<std::string, double> own_losses(const LanguageContent& content) {
  std::map<std::string, double> losses;
  const SensitivityTable* table = table_of_types(content);
  if (table == nullptr) return losses;
  for (const MatrixFigures& matrix : content.report.matrices) {
    if (const auto loss = loss_in_own_type(*table, matrix)) losses[matrix.name] = *loss;
  }
  return losses;
}

/// Few bits are the warm end of the colours.
int heat_of_bits(double bits) {
  constexpr double kBits[] = {16, 8, 6, 4.75, 3.75};
  int step = 0;
  for (const double limit : kBits) step += bits < limit ? 1 : 0;
  return step;
}

}  // namespace

std::string type_choice(const MatrixFigures& matrix) {
  return matrix.type.substr(matrix.type.find(' ') + 1);
}

std::optional<double> loss_in_own_type(const SensitivityTable& table, const MatrixFigures& matrix) {
  const auto unit = std::ranges::find(table.units, matrix.name, &SensitivityTable::Unit::name);
  const auto choice = std::ranges::find(table.choices, type_choice(matrix));
  if (unit == table.units.end() || choice == table.choices.end()) return std::nullopt;
  const double loss = unit->losses[static_cast<std::size_t>(choice - table.choices.begin())];
  return std::isnan(loss) ? std::nullopt : std::optional(loss);
}

const SensitivityTable* table_of_types(const LanguageContent& content) {
  const auto has_most = [&](const SensitivityTable& table) {
    std::size_t known = 0;
    std::size_t all = 0;
    for (const MatrixFigures& matrix : content.report.matrices) {
      all += matrix.bytes;
      if (loss_in_own_type(table, matrix)) known += matrix.bytes;
    }
    return 2 * known >= all;
  };
  const auto found = std::ranges::find_if(content.sensitivities, has_most);
  return found == content.sensitivities.end() ? nullptr : &*found;
}

std::string speed_text(double per_second) {
  return fmt::format("{:.{}f}", per_second, per_second >= 100 ? 0 : 1);
}

std::string positions_section(const LanguageReport& report) {
  std::string html;
  for (const TextFileEvaluation& text : report.evaluations) {
    if (text.details.positions.empty()) continue;
    html += position_plot(text, false);
    if (text.measures.reference) html += position_plot(text, true);
  }
  return html.empty() ? "" : "<div class=pair>\n" + html + "</div>\n";
}

std::string changed_section(const LanguageReport& report) {
  HtmlTable table("Where the predictions are farthest from those of the reference",
                  {{"text before", false},
                   {"token", false},
                   {"model predicts", false},
                   {"reference predicts", false},
                   {"KL, nats"},
                   {"loss"},
                   {"loss of the reference"}});
  for (const TextFileEvaluation& text : report.evaluations) {
    for (const ChangedToken& each : text.details.changed) {
      table.add_row({{"…" + text_html(each.before)},
                     {token_html(each.token)},
                     {token_html(each.predicted)},
                     {token_html(each.reference_predicted)},
                     Cell::number(each.kl, 3),
                     Cell::number(each.loss, 2),
                     Cell::number(each.reference_loss, 2)});
    }
  }
  return table.empty() ? "" : table.html();
}

namespace {

/// The matrices of blocks, by role.
struct Blocks {
  std::vector<std::string> roles;
  std::map<std::pair<std::string, std::size_t>, const MatrixFigures*> cells;
  std::size_t count = 0;
  /// Null: the block has none of the role.
  [[nodiscard]] const MatrixFigures* at(const std::string& role, std::size_t block) const {
    const auto found = cells.find({role, block});
    return found == cells.end() ? nullptr : found->second;
  }
  [[nodiscard]] bool have_equal_types(std::size_t a, std::size_t b) const {
    return std::ranges::all_of(roles, [&](const std::string& role) {
      const MatrixFigures* first = at(role, a);
      const MatrixFigures* second = at(role, b);
      if (first == nullptr || second == nullptr) return first == second;
      return first->type == second->type && first->bytes == second->bytes;
    });
  }
};

Blocks blocks_of(const LanguageReport& report) {
  Blocks blocks;
  for (const MatrixFigures& matrix : report.matrices) {
    if (!matrix.block) continue;
    if (std::ranges::find(blocks.roles, matrix.role) == blocks.roles.end()) {
      blocks.roles.push_back(matrix.role);
    }
    blocks.cells[{matrix.role, *matrix.block}] = &matrix;
    blocks.count = std::max(blocks.count, *matrix.block + 1);
  }
  return blocks;
}

std::string type_cell(const MatrixFigures* matrix, const std::map<std::string, double>& losses) {
  if (matrix == nullptr) return "<td></td>";
  const auto loss = losses.find(matrix->name);
  const bool has_loss = loss != losses.end();
  return fmt::format("<td class=c{} title=\"{}: {}{}\">{}</td>",
                     has_loss ? heat_of_loss(loss->second) : heat_of_bits(matrix->bits),
                     markup(matrix->name), format_bytes(matrix->bytes),
                     has_loss ? fmt::format(", loss {:.2g}", loss->second) : "",
                     markup(matrix->type));
}

}  // namespace

std::string types_section(const LanguageContent& content) {
  const std::map<std::string, double> losses = own_losses(content);
  const Blocks blocks = blocks_of(content.report);
  if (blocks.roles.empty()) return "";
  std::string head = "<th scope=col>block</th>";
  for (const std::string& role : blocks.roles) head += "<th scope=col>" + markup(role) + "</th>";
  std::string rows;
  for (std::size_t block = 0, next = 0; block < blocks.count; block = next) {
    // Where no losses tell them apart, blocks in a row with the same types have one row.
    next = block + 1;
    while (losses.empty() && next < blocks.count && blocks.have_equal_types(block, next)) ++next;
    const bool is_one = next == block + 1;
    rows += fmt::format("<tr><th scope=row>{}</th>",
                        is_one ? std::to_string(block) : fmt::format("{} to {}", block, next - 1));
    for (const std::string& role : blocks.roles) rows += type_cell(blocks.at(role, block), losses);
    rows += "</tr>\n";
  }
  return "<p>" + heat_legend(losses.empty() ? "Colour, bits that are saved" : "Colour, loss") +
         "</p>\n<div class=scroll role=region tabindex=0 aria-label=Types><table class=types>"
         "<caption>Types of the matrices by block</caption>\n<thead><tr>" +
         head + "</tr></thead>\n<tbody>\n" + rows + "</tbody></table></div>\n";
}

Json details_json(const TextDetails& details) {
  Json positions = Json::array();
  for (const PositionLoss& each : details.positions) {
    positions.push_back({{"first", each.first},
                         {"last", each.last},
                         {"loss", each.loss.value},
                         {"kl_divergence", each.kl.value}});
  }
  Json changed = Json::array();
  for (const ChangedToken& each : details.changed) {
    changed.push_back({{"index", each.index},
                       {"before", each.before},
                       {"token", each.token},
                       {"predicted", each.predicted},
                       {"reference_predicted", each.reference_predicted},
                       {"loss", each.loss},
                       {"reference_loss", each.reference_loss},
                       {"kl_divergence", each.kl}});
  }
  return {{"positions", positions}, {"changed", changed}};
}

}  // namespace halftone::report::page
