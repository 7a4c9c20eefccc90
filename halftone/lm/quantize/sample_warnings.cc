// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/sample_warnings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "halftone/base/elementary.h"

namespace halftone::lm {
namespace {

constexpr double kLossGap = 1;  ///< nats: a factor of e between perplexities
constexpr double kStandardErrors = 3;
/// Below 1 by more than what tokens for begin and leading spaces take.
constexpr double kCharactersPerToken = 0.95;
constexpr std::size_t kSamplesPerDocument = 4;

/// Losses of some samples.
struct LossGroup {
  std::size_t count = 0;
  double sum = 0;

  void add(double loss) {
    ++count;
    sum += loss;
  }
  [[nodiscard]] double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

std::string number(double value) {
  std::array<char, 512> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 2);
  return {text.data(), end.ptr};
}

/// The losses by texts, and the groups that are compared.
class LossTable {
 public:
  explicit LossTable(const MeasuredSamples& measured) : texts(measured.texts.size()) {
    for (std::size_t i = 0; i < measured.losses.size(); ++i) {
      const double loss = measured.losses[i];
      (i < measured.samples.fit.size() ? fit : held_out).add(loss);
      texts[measured.samples.texts[i]].add(loss);
    }
    double squares = 0;
    for (std::size_t i = 0; i < measured.losses.size(); ++i) {
      squares += std::pow(measured.losses[i] - texts[measured.samples.texts[i]].mean(), 2);
    }
    const std::size_t free = measured.losses.size() - std::min(measured.losses.size(), used());
    deviation_ = free > 0 ? std::sqrt(squares / static_cast<double>(free)) : 0;
  }

  /// Whether two groups differ by more than chance and a bound.
  [[nodiscard]] bool differ(const LossGroup& a, const LossGroup& b) const {
    if (a.count == 0 || b.count == 0) return false;
    const double error =
        deviation_ * std::sqrt(1 / static_cast<double>(a.count) + 1 / static_cast<double>(b.count));
    return std::abs(a.mean() - b.mean()) > std::max(kLossGap, kStandardErrors * error);
  }
  [[nodiscard]] LossGroup all_but(std::size_t text) const {
    return {fit.count + held_out.count - texts[text].count,
            fit.sum + held_out.sum - texts[text].sum};
  }

  LossGroup fit;
  LossGroup held_out;
  std::vector<LossGroup> texts;

 private:
  [[nodiscard]] std::size_t used() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(texts, [](const LossGroup& text) { return text.count > 0; }));
  }

  double deviation_ = 0;  ///< of a sample within its text
};

/// The entropy of the frequencies of a text's tokens, in nats.
double token_entropy(const MeasuredSamples& measured, std::size_t text) {
  std::map<TokenId, std::size_t> counts;
  std::size_t all = 0;
  const Samples& samples = measured.samples;
  for (std::size_t i = 0; i < samples.texts.size(); ++i) {
    if (samples.texts[i] != text) continue;
    const std::size_t num_fit = samples.fit.size();
    const auto& tokens = i < num_fit ? samples.fit[i] : samples.held_out[i - num_fit];
    for (const TokenId token : tokens) ++counts[token];
    all += tokens.size();
  }
  double entropy = 0;
  for (const auto& [token, count] : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(all);
    entropy -= share * elementary::log(share);
  }
  return entropy;
}

}  // namespace

SampleLosses mean_losses(const MeasuredSamples& measured) {
  const LossTable table(measured);
  return {table.fit.mean(), table.held_out.mean()};
}

std::vector<std::string> warn_of_few_tokens(const Samples& samples, std::size_t inputs,
                                            const std::string& matrix) {
  const std::size_t tokens = samples.fit.size() * samples.tokens;
  if (tokens >= inputs) return {};
  return {std::to_string(tokens) + " tokens to fit are fewer than the " + std::to_string(inputs) +
          " inputs of " + matrix +
          ", whose second moments are singular: give more text or samples"};
}

std::vector<std::string> warn_of_narrow_samples(const Samples& samples) {
  const std::size_t count = samples.fit.size();
  const auto split = samples.documents.begin() + static_cast<std::ptrdiff_t>(count);
  const std::set<std::size_t> fit(samples.documents.begin(), split);
  const bool shares_documents = std::any_of(
      split, samples.documents.end(), [&](std::size_t document) { return fit.contains(document); });
  std::vector<std::string> warnings;
  if (count >= kSamplesPerDocument * fit.size()) {
    warnings.push_back(
        std::to_string(count) + " samples to fit from " + std::to_string(fit.size()) +
        (fit.size() == 1 ? " document" : " documents") +
        ": a fit to few of them is worse for others" +
        (shares_documents ? ", and samples held out of the same ones do not show it" : "") +
        "; give more documents, with titles or blank lines between them or as several files");
  }
  if (count > 1 && 4 * samples.adjoining >= 3 * count) {
    warnings.push_back(std::to_string(samples.adjoining) + " of " + std::to_string(count) +
                       " samples to fit begin where another one ends: a fit to so little text is "
                       "worse for others; give a longer text, over which they can be spread");
  }
  return warnings;
}

std::vector<std::string> warn_of_strange_texts(const MeasuredSamples& measured) {
  const LossTable table(measured);
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < measured.texts.size(); ++i) {
    const SampleText& text = measured.texts[i];
    const LossGroup& losses = table.texts[i];
    if (losses.count == 0) continue;
    const double entropy = token_entropy(measured, i);
    if (losses.mean() >= entropy) {
      warnings.push_back(text.name + ": the model does not know such a text: its loss is " +
                         number(losses.mean()) + " nats per token, frequencies of tokens alone " +
                         "give " + number(entropy));
    }
    if (static_cast<double>(text.characters) <
        kCharactersPerToken * static_cast<double>(text.tokens)) {
      warnings.push_back(text.name + ": the tokenizer does not know such a text: it splits its " +
                         std::to_string(text.characters) + " characters into " +
                         std::to_string(text.tokens) + " tokens");
    }
    const LossGroup others = table.all_but(i);
    if (table.differ(losses, others)) {
      warnings.push_back(text.name + ": is unlike the other texts: the model's loss is " +
                         number(losses.mean()) + " nats per token, of the others " +
                         number(others.mean()));
    }
  }
  if (table.differ(table.fit, table.held_out)) {
    warnings.push_back("samples held out are unlike those to fit: the model's loss is " +
                       number(table.held_out.mean()) + " nats per token, of those to fit " +
                       number(table.fit.mean()));
  }
  return warnings;
}

}  // namespace halftone::lm
