// SPDX-License-Identifier: Apache-2.0
// The verdict on a language model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "halftone/report/page/heat.h"
#include "halftone/report/page/language_sections.h"
#include "halftone/report/page/verdict.h"
#include "halftone/report/table.h"

namespace halftone::report::page {
namespace {

constexpr std::size_t kMaxMatrices = 3;

/// "20100", "34.5"
std::string speed_text(double per_second) {
  return fmt::format("{:.{}f}", per_second, per_second >= 100 ? 0 : 1);
}

VerdictFigure language_speed_figure(const LanguageReport& report) {
  VerdictFigure figure{"speed", "–", "speed", "with --time: how fast it writes, by which parts"};
  if (!report.speed || report.speed->depths.empty()) return figure;
  const SpeedAtDepth& own = report.speed->depths.front();
  figure.to = own.tokens_per_second;
  const std::string reads =
      fmt::format("{} read a token, {} thread{}", format_bytes(own.bytes_per_token),
                  report.speed->threads, report.speed->threads == 1 ? "" : "s");
  if (!report.reference_speed || report.reference_speed->depths.empty()) {
    figure.value = speed_text(own.tokens_per_second);
    figure.words = "tokens a second";
    figure.detail = reads;
    return figure;
  }
  figure.from = report.reference_speed->depths.front().tokens_per_second;
  const double ratio = *figure.to / std::max(*figure.from, 1e-9);
  figure.ratio = ratio;
  const std::string times = ratio_text(ratio < 1 ? 1 / ratio : ratio);
  figure.value = times + "×";
  figure.words = ratio < 1 ? "slower" : "faster";
  figure.phrase = times + " times " + figure.words;
  figure.mood = ratio > 1.05 ? Mood::kGood : ratio < 0.95 ? Mood::kBad : Mood::kFair;
  if (figure.mood == Mood::kFair) figure.phrase = figure.words = "as fast";
  figure.detail = fmt::format("{} → {} tokens a second, {}", speed_text(*figure.from),
                              speed_text(*figure.to), reads);
  return figure;
}

VerdictFigure perplexity_figure(const LanguageReport& report) {
  VerdictFigure figure{"perplexity", "–", "perplexity", "with --text: how well it predicts"};
  if (report.evaluations.empty()) return figure;
  const TextFileEvaluation& text = report.evaluations.front();
  const lm::TextEvaluation& own = text.measures;
  figure.to = own.perplexity.value;
  if (!own.reference) {
    figure.value = fmt::format("{:.4g}", own.perplexity.value);
    figure.detail = fmt::format("± {:.2g}, {} tokens of {}", own.perplexity.standard_error,
                                own.num_tokens, text.text);
    figure.phrase = "perplexity " + figure.value;
    return figure;
  }
  const lm::TextComparison& reference = *own.reference;
  figure.from = reference.perplexity.value;
  figure.ratio = reference.ratio.value;
  const double percent = 100 * (reference.ratio.value - 1);
  figure.value = fmt::format("{}{:.{}f} %", percent < 0 ? "−" : "+", std::abs(percent),
                             std::abs(percent) < 10 ? 1 : 0);
  figure.phrase =
      fmt::format("perplexity {:.1f} % {}", std::abs(percent), percent < 0 ? "lower" : "higher");
  figure.mood = percent <= 1 ? Mood::kGood : percent <= 5 ? Mood::kFair : Mood::kBad;
  figure.detail = fmt::format("{:.4g} → {:.4g}, ± {:.1g} %; KL {:.3g} ± {:.1g} nats a token",
                              *figure.from, *figure.to, 100 * reference.ratio.standard_error,
                              reference.mean_kl.value, reference.mean_kl.standard_error);
  return figure;
}

/// The cheapest choice that loses at most half: what would help a matrix.
/// @return its name; empty: none
std::string add_better_type(const SensitivityTable& table, const MatrixFigures& matrix, double loss,
                            VerdictCause& cause) {
  std::string better;
  const auto unit = std::ranges::find(table.units, matrix.name, &SensitivityTable::Unit::name);
  for (std::size_t c = 0; c < table.choices.size(); ++c) {
    if (!(unit->losses[c] <= loss / 2)) continue;
    const double extra = unit->bytes[c] - static_cast<double>(matrix.bytes);
    if (cause.extra_bytes && extra >= *cause.extra_bytes) continue;
    cause.extra_bytes = extra;
    better = table.choices[c];
    cause.help =
        fmt::format("{} loses {:.2g} and takes {} more.", table.choices[c], unit->losses[c],
                    format_bytes(static_cast<std::size_t>(std::max(extra, 0.0))));
  }
  return better;
}

/// The type that most matrices with a type of few bits have.
std::string common_type(const LanguageReport& report) {
  std::map<std::string, std::size_t> counts;
  for (const MatrixFigures& matrix : report.matrices) {
    if (matrix.bits < 16) ++counts[type_choice(matrix)];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most == counts.end() ? "" : most->first;
}

/// Patterns of the matrices of blocks that have no type of few bits: "blk.*.ffn_down.weight".
std::set<std::string> kept_patterns(const LanguageReport& report) {
  std::set<std::string> patterns;
  for (const MatrixFigures& matrix : report.matrices) {
    const std::size_t first = matrix.name.find('.');
    const std::size_t second = matrix.name.find('.', first + 1);
    if (!matrix.block || matrix.bits < 16 || second == std::string::npos) continue;
    patterns.insert(matrix.name.substr(0, first + 1) + "*" + matrix.name.substr(second));
  }
  return patterns;
}

/// A recipe that gives matrices better types, and the command that uses it.
void add_type_help(const LanguageReport& report,
                   const std::vector<std::pair<std::string, std::string>>& types,
                   Verdict& verdict) {
  const std::string common = common_type(report);
  if (common.empty() || types.empty() || report.reference.empty()) return;
  verdict.recipe = "[default]\ntype = \"" + common + "\"\n";
  for (const std::string& pattern : kept_patterns(report)) {
    verdict.recipe += "\n[[layer]]\nname = \"" + pattern + "\"\ntype = \"keep\"\n";
  }
  double extra = 0;
  for (const VerdictCause& cause : verdict.causes) extra += cause.extra_bytes.value_or(0);
  for (const auto& [name, type] : types) {
    verdict.recipe += "\n[[layer]]\nname = \"" + name + "\"\ntype = \"" + type + "\"\n";
  }
  verdict.command = "halftone quantize " + shell_word(report.reference) +
                    " -o better.safetensors --text TEXT --recipe better.toml";
  verdict.sentences.push_back(
      fmt::format("With better types for {}, {} more:", types.size() == 1 ? "it" : "them",
                  format_bytes(static_cast<std::size_t>(std::max(extra, 0.0)))));
}

void add_matrix_causes(const LanguageContent& content, Verdict& verdict) {
  for (const SensitivityTable& table : content.sensitivities) {
    std::vector<std::pair<double, const MatrixFigures*>> losses;
    double sum = 0;
    for (const MatrixFigures& matrix : content.report.matrices) {
      const std::optional<double> loss = loss_in_own_type(table, matrix);
      if (!loss) continue;
      losses.emplace_back(*loss, &matrix);
      sum += *loss;
    }
    if (!(sum > 0)) continue;
    std::ranges::stable_sort(losses,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
    losses.resize(std::min(losses.size(), kMaxMatrices));
    verdict.share_of = "loss";
    std::vector<std::string> names;
    std::vector<std::pair<std::string, std::string>> types;
    double share = 0;
    for (const auto& [loss, matrix] : losses) {
      VerdictCause cause{matrix->name};
      cause.share = loss / sum;
      cause.heat = heat_of_loss(loss);
      cause.facts = fmt::format("{}, {}, {:.2g} nats a token", matrix->type,
                                format_bytes(matrix->bytes), loss);
      const std::string better = add_better_type(table, *matrix, loss, cause);
      if (!better.empty()) types.emplace_back(matrix->name, better);
      names.push_back(matrix->name);
      share += cause.share;
      verdict.causes.push_back(std::move(cause));
    }
    verdict.sentences.push_back(
        fmt::format("{} cause {:.0f} % of the predicted loss.", listed(names), 100 * share));
    add_type_help(content.report, types, verdict);
    return;
  }
}

}  // namespace

Verdict verdict_of(const LanguageContent& content) {
  const LanguageReport& report = content.report;
  Verdict verdict;
  std::optional<double> from;
  if (report.reference_bytes > 0) from = static_cast<double>(report.reference_bytes);
  verdict.figures = {size_figure(from, static_cast<double>(report.file_bytes)),
                     language_speed_figure(report), perplexity_figure(report)};
  const std::string sentence = first_sentence(verdict.figures);
  if (!sentence.empty()) verdict.sentences.push_back(sentence);
  add_matrix_causes(content, verdict);
  if (report.evaluations.empty()) {
    verdict.missing.emplace_back(
        "No text was given. With --text, the page shows perplexity, and with --reference "
        "how far the predictions are from those of another model.");
  }
  if (!report.speed) {
    verdict.missing.emplace_back(
        "No times were measured. With --time, the page shows how fast it writes, and the bytes "
        "that it reads for a token.");
  }
  if (content.sensitivities.empty()) {
    verdict.missing.emplace_back(
        "With --sensitivity, the page shows what each matrix loses in each type.");
  }
  verdict.missing.insert(verdict.missing.end(), report.missing.begin(), report.missing.end());
  return verdict;
}

}  // namespace halftone::report::page
