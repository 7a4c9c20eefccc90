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

/// A standard error: "52", "0.3".
std::string error_text(double error) {
  return error >= 1 ? fmt::format("{:.0f}", error) : fmt::format("{:.1g}", error);
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
  if (percent >= 100) {
    figure.value = ratio_text(reference.ratio.value) + "×";
    figure.phrase = "perplexity " + ratio_text(reference.ratio.value) + " times as high";
  } else {
    figure.value = fmt::format("{}{:.{}f} %", percent < 0 ? "−" : "+", std::abs(percent),
                               std::abs(percent) < 10 ? 1 : 0);
    figure.phrase =
        fmt::format("perplexity {:.1f} % {}", std::abs(percent), percent < 0 ? "lower" : "higher");
  }
  figure.mood = percent <= 1 ? Mood::kGood : percent <= 5 ? Mood::kFair : Mood::kBad;
  figure.detail =
      fmt::format("{:.4g} → {:.4g}, ± {} %; KL {:.3g} ± {:.1g} nats a token", *figure.from,
                  *figure.to, error_text(100 * reference.ratio.standard_error),
                  reference.mean_kl.value, reference.mean_kl.standard_error);
  return figure;
}

/// A matrix, what it loses, and the cheapest choice that loses at most half.
struct MatrixLoss {
  const MatrixFigures* matrix = nullptr;
  double loss = 0;
  std::string better{};  ///< empty: none
  double better_loss = 0;
  double extra_bytes = 0;
  /// Loss won for a byte of the better choice.
  [[nodiscard]] double won_per_byte() const {
    return (loss - better_loss) / std::max(extra_bytes, 1.0);
  }
};

MatrixLoss matrix_loss(const SensitivityTable& table, const MatrixFigures& matrix, double loss) {
  MatrixLoss found{&matrix, loss};
  const auto unit = std::ranges::find(table.units, matrix.name, &SensitivityTable::Unit::name);
  for (std::size_t c = 0; c < table.choices.size(); ++c) {
    if (!(unit->losses[c] <= loss / 2)) continue;
    const double extra = std::max(unit->bytes[c] - static_cast<double>(matrix.bytes), 0.0);
    if (!found.better.empty() && extra >= found.extra_bytes) continue;
    found.better = table.choices[c];
    found.better_loss = unit->losses[c];
    found.extra_bytes = extra;
  }
  return found;
}

/// The losses of a model's matrices in their own types.
std::vector<MatrixLoss> matrix_losses(const SensitivityTable& table, const LanguageReport& report) {
  std::vector<MatrixLoss> losses;
  for (const MatrixFigures& matrix : report.matrices) {
    const std::optional<double> loss = loss_in_own_type(table, matrix);
    if (loss) losses.push_back(matrix_loss(table, matrix, *loss));
  }
  return losses;
}

VerdictCause cause_of(const MatrixLoss& each, double sum) {
  VerdictCause cause{each.matrix->name};
  cause.share = each.loss / sum;
  cause.heat = heat_of_loss(each.loss);
  cause.facts = fmt::format("{}, {}, {:.2g} nats a token", each.matrix->type,
                            format_bytes(each.matrix->bytes), each.loss);
  if (each.better.empty()) return cause;
  cause.extra_bytes = each.extra_bytes;
  cause.help = fmt::format("{} loses {:.2g} and takes {} more.", each.better, each.better_loss,
                           format_bytes(static_cast<std::size_t>(each.extra_bytes)));
  return cause;
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

/// Better types for the matrices that win most for each byte, and the command that uses them.
/// @param losses  the ones that win most first
void add_type_help(const LanguageReport& report, const std::vector<MatrixLoss>& losses, double sum,
                   Verdict& verdict) {
  const std::string common = common_type(report);
  if (common.empty() || losses.empty() || report.reference.empty()) return;
  verdict.recipe = "[default]\ntype = \"" + common + "\"\n";
  for (const std::string& pattern : kept_patterns(report)) {
    verdict.recipe += "\n[[layer]]\nname = \"" + pattern + "\"\ntype = \"keep\"\n";
  }
  std::vector<std::string> names;
  double extra = 0;
  for (const MatrixLoss& each : losses) {
    verdict.recipe +=
        "\n[[layer]]\nname = \"" + each.matrix->name + "\"\ntype = \"" + each.better + "\"\n";
    verdict.helped.push_back(cause_of(each, sum));
    names.push_back(each.matrix->name);
    extra += each.extra_bytes;
  }
  verdict.command = "halftone quantize " + shell_word(report.reference) +
                    " -o better.safetensors --text TEXT --recipe better.toml";
  verdict.sentences.push_back(
      fmt::format("Better types win most for each byte at {}, {} more:", listed(names),
                  format_bytes(static_cast<std::size_t>(extra))));
}

void add_matrix_causes(const LanguageContent& content, Verdict& verdict) {
  const SensitivityTable* table = table_of_types(content);
  if (table == nullptr) return;
  std::vector<MatrixLoss> losses = matrix_losses(*table, content.report);
  double sum = 0;
  for (const MatrixLoss& each : losses) sum += each.loss;
  if (heat_of_loss(sum) == 0) {
    verdict.sentences.emplace_back(
        "The predicted losses of single matrices add up to less than 0.001 nats a token.");
    return;
  }
  std::vector<MatrixLoss> helped;
  std::ranges::copy_if(losses, std::back_inserter(helped),
                       [](const MatrixLoss& each) { return !each.better.empty(); });
  std::ranges::stable_sort(helped, std::greater<>(), &MatrixLoss::won_per_byte);
  helped.resize(std::min(helped.size(), kMaxMatrices));
  std::ranges::stable_sort(losses, std::greater<>(), &MatrixLoss::loss);
  losses.resize(std::min(losses.size(), kMaxMatrices));
  verdict.share_of = "loss";
  std::vector<std::string> names;
  double share = 0;
  for (const MatrixLoss& each : losses) {
    verdict.causes.push_back(cause_of(each, sum));
    names.push_back(each.matrix->name);
    share += verdict.causes.back().share;
  }
  verdict.sentences.push_back(fmt::format("{} {} {:.0f} % of the predicted loss.", listed(names),
                                          names.size() == 1 ? "causes" : "cause", 100 * share));
  add_type_help(content.report, helped, sum, verdict);
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
  } else if (table_of_types(content) == nullptr) {
    verdict.missing.emplace_back(
        "The sensitivities are of other types than those of most matrices: the page names no "
        "causes of the loss.");
  }
  verdict.missing.insert(verdict.missing.end(), report.missing.begin(), report.missing.end());
  return verdict;
}

}  // namespace halftone::report::page
