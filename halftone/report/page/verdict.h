// SPDX-License-Identifier: Apache-2.0
// The answer on top of a page: how much smaller, faster and worse, where, and what helps. Private
// to this folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "halftone/report/json.h"
#include "halftone/report/page/language_page.h"
#include "halftone/report/page/page.h"

namespace halftone::report::page {

/// How good a figure is.
enum class Mood : std::uint8_t { kNone, kGood, kFair, kBad };

/// One of the large figures.
struct VerdictFigure {
  std::string key;       ///< of the JSON: "size", "speed", "accuracy", ...
  std::string value{};   ///< "8.3×"; "–" if it was not measured
  std::string words{};   ///< behind the value: "smaller"
  std::string detail{};  ///< "1.1 MiB → 130.3 KiB", or what would measure it
  std::string phrase{};  ///< of a sentence: "8.3 times smaller"; empty: none
  Mood mood = Mood::kNone;
  std::optional<double> from{};   ///< of the reference
  std::optional<double> to{};     ///< of the model
  std::optional<double> ratio{};  ///< from / to of sizes and times
};

/// A layer that causes much of the loss.
struct VerdictCause {
  std::string name;
  std::string anchor{};                 ///< the id of its row; empty: none
  std::string facts{};                  ///< "3 bits, 4.5 KiB, 11.1 dB alone"
  std::string help{};                   ///< "8 bits take 2.1 KiB more"
  double share = 0;                     ///< of the loss of all layers
  std::optional<double> extra_bytes{};  ///< that the help takes
  std::optional<int> heat{};
};

/// What one reads first.
struct Verdict {
  std::vector<VerdictFigure> figures;
  std::vector<std::string> sentences;  ///< the first one has the figures
  std::vector<VerdictCause> causes{};  ///< at most three, the worst first
  std::string share_of{};              ///< of which the shares are: "loss" or "noise"
  std::vector<VerdictCause>
      helped{};           ///< which win most for the bytes that help takes; at most three
  std::string help{};     ///< what that wins and takes, the last sentence
  std::string recipe{};   ///< TOML that helps; empty: none
  std::string command{};  ///< that uses it
  std::vector<std::string> missing{};  ///< what was not measured, and which option would
};

Verdict verdict_of(const Content& content);
Verdict verdict_of(const LanguageContent& content);

/// The figures, the sentences, and behind them the causes.
std::string verdict_html(const Verdict& verdict);
std::string causes_html(const Verdict& verdict);
/// The key "verdict" of a page's JSON.
Json verdict_json(const Verdict& verdict);

// What both kinds of pages share.

/// Sizes of the files in bytes. @param from  of the reference, if there is one
VerdictFigure size_figure(std::optional<double> from, double to);
/// A word of a command that a shell reads as one.
std::string shell_word(const std::string& word);
/// "8.3", "12", "0.45": two or three digits.
std::string ratio_text(double ratio);
/// A sentence of the phrases of figures: "8.3 times smaller, 5.5 points of accuracy lost."
std::string first_sentence(const std::vector<VerdictFigure>& figures);
/// "a", "a and b", "a, b and c"
std::string listed(const std::vector<std::string>& names);

}  // namespace halftone::report::page
