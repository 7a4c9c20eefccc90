// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "halftone/report/json.h"
#include "halftone/report/language.h"
#include "halftone/report/table.h"

namespace halftone::report {
namespace {

std::string predicted_loss_text(double loss) { return fmt::format("{:.3g}", loss); }

/// Sums over the matrices that a type holds.
struct TypeTotals {
  std::size_t matrices = 0;
  std::size_t bytes = 0;
  double loss = 0;
  std::optional<double> bits{};  ///< nothing if it holds none
};

TypeTotals totals_of(const TypeSensitivity& choice) {
  TypeTotals totals;
  for (const std::optional<MatrixSensitivity>& matrix : choice.matrices) {
    if (!matrix) continue;
    ++totals.matrices;
    totals.bytes += matrix->bytes;
    totals.loss += matrix->loss;
    totals.bits = matrix->bits;
  }
  return totals;
}

/// The loss of each matrix alone in each type.
std::string matrix_losses(const LanguageSensitivity& found) {
  std::vector<Table::Column> columns = {
      {"matrix", Table::Align::kLeft}, {"rows x columns"}, {"type", Table::Align::kLeft}, {"size"}};
  for (const TypeSensitivity& choice : found.choices) columns.push_back({choice.name});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < found.matrices.size(); ++i) {
    const SensitiveMatrix& matrix = found.matrices[i];
    std::vector<std::string> row = {clipped(matrix.name),
                                    fmt::format("{} x {}", matrix.rows, matrix.cols), matrix.type,
                                    format_bytes(matrix.bytes)};
    for (const TypeSensitivity& choice : found.choices) {
      const auto& cost = choice.matrices[i];
      row.push_back(cost ? predicted_loss_text(cost->loss) : "-");
    }
    table.add_row(std::move(row));
  }
  return table.to_text();
}

std::string type_totals(const LanguageSensitivity& found) {
  Table table({{"type", Table::Align::kLeft}, {"bits"}, {"matrices"}, {"size"}, {"loss of all"}});
  for (const TypeSensitivity& choice : found.choices) {
    const TypeTotals totals = totals_of(choice);
    table.add_row({choice.name, totals.bits ? format_number(*totals.bits, 3) : "-",
                   std::to_string(totals.matrices), format_bytes(totals.bytes),
                   predicted_loss_text(totals.loss)});
  }
  return table.to_text();
}

}  // namespace

std::string to_text(const LanguageSensitivity& found) {
  return fmt::format(
             "Loss: predicted KL divergence from the model, nats per token, on {} samples of {} "
             "tokens. If one matrix has this type:\n\n{}\nAll matrices that a type holds:\n\n{}",
             found.samples, found.tokens, matrix_losses(found), type_totals(found)) +
         fmt::format("\nThe model's own loss on these samples: {} nats per token.\n",
                     format_number(found.model_loss, 3)) +
         (found.on_fit_samples ? "These are the samples of the fit, so losses on others are "
                                 "higher; --held-out keeps others.\n"
                               : "");
}

std::string to_json(const LanguageSensitivity& found) {
  Json layers = Json::array();
  for (const SensitiveMatrix& matrix : found.matrices) {
    layers.push_back({{"name", matrix.name},
                      {"type", matrix.type},
                      {"rows", matrix.rows},
                      {"cols", matrix.cols},
                      {"bytes", matrix.bytes}});
  }
  Json choices = Json::array();
  for (const TypeSensitivity& choice : found.choices) {
    const TypeTotals totals = totals_of(choice);
    Json costs = Json::array();
    for (const std::optional<MatrixSensitivity>& matrix : choice.matrices) {
      costs.push_back(matrix ? Json({{"weight_bits", matrix->bits},
                                     {"bytes", matrix->bytes},
                                     {"loss", matrix->loss}})
                             : Json());
    }
    choices.push_back({{"name", choice.name},
                       {"weight_bits", totals.bits ? Json(*totals.bits) : Json()},
                       {"bytes", totals.bytes},
                       {"loss", totals.loss},
                       {"layers", costs}});
  }
  return dump({{"loss", "kl"},
               {"samples", found.samples},
               {"tokens", found.tokens},
               {"on_fit_samples", found.on_fit_samples},
               {"model_loss", found.model_loss},
               {"warnings", found.warnings},
               {"layers", layers},
               {"choices", choices}});
}

}  // namespace halftone::report
