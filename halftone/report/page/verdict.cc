// SPDX-License-Identifier: Apache-2.0
// The verdict on a network.
#include "halftone/report/page/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "halftone/compress/recipe.h"
#include "halftone/report/page/drawing.h"
#include "halftone/report/page/heat.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"

namespace halftone::report::page {
namespace {

using compress::Evaluation;

constexpr int kHelpBits = 8;
constexpr std::size_t kMaxCauses = 3;
constexpr double kLeastShareOfNoise = 0.05;
constexpr double kLeastShareToHelp = 0.02;  ///< of the loss: help for less is not worth a line
constexpr std::size_t kMaxNamedSlow = 3;
constexpr std::size_t kMaxSentenceName = 40;  ///< characters
// Of accuracy, in points: below the first the loss is small, above the second large.
constexpr double kFairPoints = 0.5;
constexpr double kBadPoints = 2;
constexpr double kMaxPreemptions = 100;  ///< per second: see runtime::Profile

const Evaluation* evaluation_in(const NetworkFigures& network) {
  return network.evaluation ? &*network.evaluation : nullptr;
}

/// Whether other work kept threads from running, so that others waited for them.
bool was_disturbed(const runtime::Profile& profile) {
  return profile.preemptions > kMaxPreemptions;
}

VerdictFigure speed_figure(const ModelReport& report) {
  VerdictFigure figure{"speed"};
  const auto& own = report.model.profile;
  if (!own) {
    figure.value = "–";
    figure.words = "speed";
    figure.detail = "with --time: how fast it is, layer by layer";
    return figure;
  }
  figure.to = own->median_us;
  const std::string run = fmt::format(
      "{} sample{}, {} thread{}", own->batch, own->batch == 1 ? "" : "s",
      report.model.plan->options().threads, report.model.plan->options().threads == 1 ? "" : "s");
  if (!report.reference || !report.reference->profile || own->median_us <= 0) {
    figure.value = time_text(1e-6 * own->median_us);
    figure.words = "a run";
    figure.detail = run;
    return figure;
  }
  figure.from = report.reference->profile->median_us;
  const double ratio = *figure.from / *figure.to;
  figure.ratio = ratio;
  const bool is_slower = ratio < 1;
  const std::string times = ratio_text(is_slower ? 1 / ratio : ratio);
  figure.value = times + "×";
  figure.words = is_slower ? "slower" : "faster";
  figure.phrase = times + " times " + figure.words;
  figure.mood = ratio > 1.05 ? Mood::kGood : ratio < 0.95 ? Mood::kBad : Mood::kFair;
  if (figure.mood == Mood::kFair) figure.phrase = figure.words = "as fast";
  figure.detail =
      time_text(1e-6 * *figure.from) + " → " + time_text(1e-6 * *figure.to) + ", " + run;
  if (was_disturbed(*own) || was_disturbed(*report.reference->profile)) {
    figure.detail += "; the machine was busy: measure again";
    figure.mood = Mood::kFair;
    figure.phrase.clear();  // no claim in a sentence
  }
  return figure;
}

/// Accuracy lost in points: by how much, and whether that may be chance.
void judge_points(VerdictFigure& figure, double error_points) {
  const double lost = 100 * (*figure.from - *figure.to);
  const bool is_chance = std::abs(lost) < 2 * error_points;
  const bool is_nothing = std::abs(lost) < 0.05;  // as it is rounded
  figure.value = is_nothing ? "0.0" : fmt::format("{}{:.1f}", lost > 0 ? "−" : "+", std::abs(lost));
  figure.words = "points of accuracy";
  figure.phrase = is_nothing ? "no accuracy lost"
                             : fmt::format("{:.1f} points of accuracy {}", std::abs(lost),
                                           lost > 0 ? "lost" : "gained");
  figure.mood = lost <= kFairPoints ? Mood::kGood : lost <= kBadPoints ? Mood::kFair : Mood::kBad;
  if (is_chance && figure.mood == Mood::kBad) figure.mood = Mood::kFair;
  figure.detail += fmt::format(", ± {:.1f}", error_points);
}

VerdictFigure accuracy_figure(const ModelReport& report) {
  VerdictFigure figure{"accuracy", "–", "accuracy"};
  const Evaluation* own = evaluation_in(report.model);
  if (own == nullptr) {
    figure.detail = report.data.empty() ? "with --data: how well it answers"
                                        : "with labels, or with --reference: how well it answers";
    return figure;
  }
  const bool has_labels = own->metric == "accuracy";
  figure.to = own->value;
  if (has_labels && own->reference && own->reference->value) {
    figure.from = own->reference->value;
    figure.detail = fmt::format("{:.1f} → {:.1f} % of {} samples", 100 * *figure.from,
                                100 * own->value, own->samples);
    // Only samples with another answer add to the variance of the difference.
    const double changed = 1 - own->reference->agreement;
    judge_points(figure, 100 * std::sqrt(changed / static_cast<double>(own->samples)));
    return figure;
  }
  const bool is_classifier = has_labels || (own->reference && own->reference->divergence);
  if (!is_classifier && own->reference) {
    figure.value = fmt::format("{:.1f} dB", own->reference->sqnr_db);
    figure.words = "output SQNR";
    figure.detail = fmt::format("signal to noise of the output, {} samples", own->samples);
    figure.phrase = figure.value + " between signal and noise of the output";
    figure.to = own->reference->sqnr_db;
    return figure;
  }
  figure.value = fmt::format("{:.1f} %", 100 * own->value);
  figure.words = has_labels ? "accuracy" : "same answers";
  figure.detail = fmt::format("of {} samples", own->samples);
  figure.phrase =
      figure.value + (has_labels ? " of the answers right" : " of the answers the same");
  return figure;
}

/// What each layer adds to the loss: as estimated, else as noise of its output alone.
std::vector<double> losses_of(const NetworkFigures& model) {
  const bool has_losses = std::ranges::any_of(
      model.layers, [](const LayerFigures& layer) { return layer.loss.has_value(); });
  std::vector<double> losses;
  for (const LayerFigures& layer : model.layers) {
    const double noise =
        layer.error && !has_losses ? std::pow(10, -layer.error->sqnr_alone_db / 10) : 0;
    losses.push_back(layer.loss.value_or(noise));
  }
  return losses;
}

std::vector<std::size_t> worst_by(const NetworkFigures& model, const std::vector<double>& losses) {
  if (model.causes) return model.causes->worst;
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (losses[i] > 0 && losses[i] >= kLeastShareOfNoise * sum) order.push_back(i);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return losses[a] > losses[b]; });
  order.resize(std::min(order.size(), kMaxCauses));
  return order;
}

bool has_few_bits(const LayerInfo& layer) {
  return layer.weight_bits < kHelpBits || layer.activation_bits < kHelpBits;
}

std::string bits_of(const LayerInfo& layer) {
  const std::string weights = bits_text(layer.weight_bits);
  const std::string inputs = bits_text(layer.activation_bits);
  return weights == inputs ? weights + " bits" : weights + " bits, inputs " + inputs;
}

/// Bytes that 8 bits take more, at least one.
double extra_bytes_of(const LayerFigures& layer) {
  const double own = static_cast<double>(layer.info.weight_bytes);
  return std::max(1.0, static_cast<double>(layer.eight_bit_bytes.value_or(0)) - own);
}

/// The layers of few bits that win most loss for each byte that 8 bits take more; at most three.
std::vector<std::size_t> cheapest_to_help(const NetworkFigures& model,
                                          const std::vector<double>& losses) {
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const LayerFigures& layer = model.layers[i];
    const bool is_known = has_few_bits(layer.info) && layer.eight_bit_bytes;
    if (is_known && losses[i] >= kLeastShareToHelp * sum) order.push_back(i);
  }
  const auto per_byte = [&](std::size_t i) { return losses[i] / extra_bytes_of(model.layers[i]); };
  std::ranges::stable_sort(order, std::greater<>(), per_byte);
  order.resize(std::min(order.size(), kMaxCauses));
  return order;
}

VerdictCause cause_of(const ModelReport& report, std::size_t index, double share) {
  const LayerFigures& layer = report.model.layers[index];
  VerdictCause cause{shown_name(layer), fmt::format("l{}", index)};
  cause.share = share;
  cause.heat = heat_of(layer);
  cause.facts = bits_of(layer.info) + ", " + format_bytes(layer.info.weight_bytes);
  if (layer.error) cause.facts += ", " + format_number(layer.error->sqnr_alone_db, 1) + " dB alone";
  const auto own = static_cast<double>(layer.info.weight_bytes);
  const LayerFigures* counterpart =
      report.reference ? counterpart_of(layer, *report.reference, true) : nullptr;
  if (has_few_bits(layer.info)) {
    cause.help = "Give it 8 bits";
    if (layer.eight_bit_bytes)
      cause.extra_bytes = static_cast<double>(*layer.eight_bit_bytes) - own;
  } else if (layer.info.weight_bits < 32 && counterpart != nullptr) {
    cause.help = "Keep it in float32";
    cause.extra_bytes = static_cast<double>(counterpart->info.weight_bytes) - own;
  }
  if (cause.extra_bytes) {
    const double extra = std::max(0.0, *cause.extra_bytes);
    cause.extra_bytes = extra;
    cause.help += ": " + format_bytes(static_cast<std::size_t>(extra)) + " more";
  }
  if (!cause.help.empty()) cause.help += ".";
  return cause;
}

std::vector<std::string> short_names(const std::vector<VerdictCause>& causes) {
  std::vector<std::string> names;
  for (const VerdictCause& cause : causes) {
    names.push_back(short_name(cause.name, kMaxSentenceName));
  }
  return names;
}

double share_of(const std::vector<VerdictCause>& causes) {
  double share = 0;
  for (const VerdictCause& cause : causes) share += cause.share;
  return share;
}

std::string causes_sentence(const Verdict& verdict) {
  return fmt::format("{} {} {:.0f} % of the {} of single layers.",
                     listed(short_names(verdict.causes)),
                     verdict.causes.size() == 1 ? "causes" : "cause",
                     100 * share_of(verdict.causes), verdict.share_of);
}

/// What helps most for its bytes, and what it takes.
std::string help_sentence(const std::vector<VerdictCause>& helped, double extra_bytes) {
  return fmt::format("8 bits win most for each byte at {}: {:.0f} % of it for {} more:",
                     listed(short_names(helped)), 100 * share_of(helped),
                     format_bytes(static_cast<std::size_t>(extra_bytes)));
}

/// The most frequent bits and system of layers with codes.
struct Common {
  int weight_bits = 0;
  int activation_bits = 0;
  std::string system;
};
std::optional<Common> common_of(const NetworkFigures& model) {
  std::map<std::tuple<int, int, std::string>, std::size_t> counts;
  for (const LayerFigures& layer : model.layers) {
    if (!has_few_bits(layer.info)) continue;
    ++counts[{layer.info.weight_bits, layer.info.activation_bits, system_of(layer.info)}];
  }
  if (counts.empty()) return std::nullopt;
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  const auto& [weights, inputs, system] = most->first;
  return Common{weights, inputs, system};
}

/// Options of `quantize` for layers in these bits.
std::string options_for(const Common& common) {
  const auto bits = [](const char* option, int count) {
    return fmt::format(" {} {}", option, count == 32 ? "none" : std::to_string(count));
  };
  const std::string system = common.system == "basis" ? "" : " --scheme " + common.system;
  return system + bits("--weight-bits", common.weight_bits) +
         bits("--activation-bits", common.activation_bits);
}

void add_help(const ModelReport& report, const std::vector<double>& losses, Verdict& verdict) {
  const std::optional<Common> common = common_of(report.model);
  const std::vector<std::size_t> helped = cheapest_to_help(report.model, losses);
  if (!report.reference || !common || helped.empty()) return;
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  compress::Recipe recipe;
  double extra = 0;
  for (const std::size_t i : helped) {
    const LayerFigures& layer = report.model.layers[i];
    compress::LayerSettings settings;
    settings.weight_bits = kHelpBits;
    if (layer.info.activation_bits < 32) settings.activation_bits = kHelpBits;
    recipe.overrides.push_back({compress::literal_pattern(shown_name(layer)), settings});
    verdict.helped.push_back(cause_of(report, i, losses[i] / sum));
    extra += verdict.helped.back().extra_bytes.value_or(0);
  }
  verdict.help = help_sentence(verdict.helped, extra);
  verdict.recipe = to_toml(recipe);
  verdict.command = "halftone quantize " + shell_word(report.reference->name) +
                    " -o better.circle --data SAMPLES" + options_for(*common) +
                    " --recipe better.toml";
}

void add_causes(const ModelReport& report, Verdict& verdict) {
  const std::vector<double> losses = losses_of(report.model);
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  const std::vector<std::size_t> worst = worst_by(report.model, losses);
  if (worst.empty() || !(sum > 0) || !std::isfinite(sum)) return;
  if (report.model.causes && heat_of_loss(sum) == 0) {
    verdict.sentences.emplace_back("The losses of single layers add up to less than 0.001.");
    return;
  }
  verdict.share_of = report.model.causes ? "loss" : "noise";
  for (const std::size_t i : worst) verdict.causes.push_back(cause_of(report, i, losses[i] / sum));
  verdict.sentences.push_back(causes_sentence(verdict));
  // Where nothing is lost, nothing needs help.
  if (verdict.figures.back().mood != Mood::kGood) add_help(report, losses, verdict);
}

void add_slow_layers(const ModelReport& report, Verdict& verdict) {
  std::vector<std::string> slow;
  for (const LayerFigures& layer : report.model.layers) {
    if (is_slow(report, layer)) slow.push_back(short_name(shown_name(layer), kMaxSentenceName));
  }
  if (slow.empty()) return;
  const std::size_t count = slow.size();
  const bool names_all = count <= kMaxNamedSlow;
  slow.resize(std::min(count, kMaxNamedSlow));
  verdict.sentences.push_back(fmt::format("{} layer{} slower than in float32{}{}.", count,
                                          count == 1 ? " is" : "s are",
                                          names_all ? ": " : ", such as ", listed(slow)));
}

/// What would show more.
std::vector<std::string> hints(const ModelReport& report) {
  std::vector<std::string> result;
  if (report.data.empty()) {
    result.emplace_back(
        "No samples were given. With --data, the page shows accuracy, activations and "
        "the worst samples.");
  } else if (!report.model.evaluation) {
    result.emplace_back(
        "The samples have no labels. With --reference, the page shows how far the "
        "answers are from those of the reference.");
  }
  if (!report.reference) {
    result.emplace_back(
        "No float network was given. With --reference and --data, the page shows the "
        "error of every layer.");
  }
  if (!report.model.profile) {
    result.emplace_back(
        "No times were measured. With --time, the page shows those of every layer.");
  }
  result.insert(result.end(), report.missing.begin(), report.missing.end());
  return result;
}

}  // namespace

Verdict verdict_of(const Content& content) {
  const ModelReport& report = content.report;
  std::optional<double> from;
  if (report.reference) from = static_cast<double>(report.reference->inspection.file_bytes);
  Verdict verdict;
  verdict.figures = {size_figure(from, static_cast<double>(report.model.inspection.file_bytes)),
                     speed_figure(report), accuracy_figure(report)};
  const std::string sentence = first_sentence(verdict.figures);
  if (!sentence.empty()) verdict.sentences.push_back(sentence);
  add_causes(report, verdict);
  add_slow_layers(report, verdict);
  if (!verdict.help.empty()) verdict.sentences.push_back(verdict.help);
  verdict.missing = hints(report);
  return verdict;
}

}  // namespace halftone::report::page
