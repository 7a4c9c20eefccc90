// SPDX-License-Identifier: Apache-2.0
// What verdicts of networks and of language models share, and how they look.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/heat.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/verdict.h"
#include "halftone/report/table.h"

namespace halftone::report::page {
namespace {

constexpr std::size_t kMaxCardName = 60;  ///< characters

const char* class_of(Mood mood) {
  switch (mood) {
    case Mood::kGood:
      return "good";
    case Mood::kFair:
      return "fair";
    case Mood::kBad:
      return "bad";
    case Mood::kNone:
      break;
  }
  return "plain";
}

std::string figure_html(const VerdictFigure& figure) {
  return fmt::format(
      "<div class=\"figure {}\"><p><strong>{}</strong> {}</p><p class=detail>{}</p></div>\n",
      class_of(figure.mood), markup(figure.value), markup(figure.words), markup(figure.detail));
}

std::string cause_html(const VerdictCause& cause, const std::string& share_of) {
  std::string name = markup(short_name(cause.name, kMaxCardName));
  if (!cause.anchor.empty()) name = "<a href=\"#" + cause.anchor + "\">" + name + "</a>";
  const std::string swatch = cause.heat ? fmt::format("<i class=c{}></i> ", *cause.heat) : "";
  return fmt::format(
      "<div class=card><h3>{}{}</h3><p><b>{:.0f} %</b> of the {}. {}.</p><p>{}</p></div>\n", swatch,
      name, 100 * cause.share, share_of, markup(cause.facts), markup(cause.help));
}

Json figure_json(const VerdictFigure& figure) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  return {{"from", or_null(figure.from)},
          {"to", or_null(figure.to)},
          {"ratio", or_null(figure.ratio)},
          {"text", figure.value + " " + figure.words}};
}

Json causes_json(const std::vector<VerdictCause>& causes) {
  Json list = Json::array();
  for (const VerdictCause& cause : causes) {
    list.push_back({{"layer", cause.name},
                    {"share", cause.share},
                    {"extra_bytes", cause.extra_bytes ? Json(*cause.extra_bytes) : Json()}});
  }
  return list;
}

}  // namespace

std::string shell_word(const std::string& word) {
  const bool is_plain = std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/+").find(c) != std::string_view::npos;
  });
  if (is_plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.{}f}", ratio, ratio >= 100 ? 0 : ratio >= 1 ? 1 : 2);
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " and " : ", ";
    list += names[i];
  }
  return list;
}

VerdictFigure size_figure(std::optional<double> from, double to) {
  VerdictFigure figure{"size"};
  figure.from = from;
  figure.to = to;
  const std::string own = format_bytes(static_cast<std::size_t>(to));
  if (!from || to <= 0) {
    figure.value = own;
    figure.words = "file";
    figure.detail = "with --reference: how much smaller that is";
    return figure;
  }
  const double ratio = *from / to;
  figure.ratio = ratio;
  const bool grows = ratio < 1;
  figure.value = ratio_text(grows ? 1 / ratio : ratio) + "×";
  figure.words = grows ? "larger" : "smaller";
  figure.phrase = ratio_text(grows ? 1 / ratio : ratio) + " times " + figure.words;
  figure.mood = ratio > 1.05 ? Mood::kGood : ratio < 0.95 ? Mood::kBad : Mood::kFair;
  if (figure.mood == Mood::kFair) figure.phrase = figure.words = "as large";
  figure.detail = format_bytes(static_cast<std::size_t>(*from)) + " → " + own;
  return figure;
}

std::string first_sentence(const std::vector<VerdictFigure>& figures) {
  std::vector<std::string> phrases;
  for (const VerdictFigure& figure : figures) {
    if (!figure.phrase.empty()) phrases.push_back(figure.phrase);
  }
  if (phrases.empty()) return "";
  std::string sentence = listed(phrases) + ".";
  if (sentence[0] >= 'a' && sentence[0] <= 'z') sentence[0] = static_cast<char>(sentence[0] - 32);
  return sentence;
}

std::string verdict_html(const Verdict& verdict) {
  std::string html = "<div class=figures>\n";
  for (const VerdictFigure& figure : verdict.figures) html += figure_html(figure);
  html += "</div>\n";
  std::string text;
  for (std::size_t i = 0; i < verdict.sentences.size(); ++i) {
    const std::string sentence = markup(verdict.sentences[i]);
    text += i == 0 ? "<b>" + sentence + "</b>" : " " + sentence;
  }
  if (!text.empty()) html += "<p class=verdict>" + text + "</p>\n";
  if (!verdict.command.empty()) {
    html += "<details class=help><summary><code>" + markup(verdict.command) +
            "</code></summary>\n<p>with these lines as <code>better.toml</code>, and the samples "
            "that the network was fitted to:</p>\n<pre>" +
            markup(verdict.recipe) + "</pre></details>\n";
  }
  return html;
}

std::string causes_html(const Verdict& verdict) {
  std::string html;
  if (!verdict.causes.empty()) {
    html += "<div class=causes>\n";
    for (const VerdictCause& cause : verdict.causes) html += cause_html(cause, verdict.share_of);
    html += "</div>\n";
  }
  if (verdict.missing.empty()) return html;
  html += "<ul class=\"note missing\">\n";
  for (const std::string& each : verdict.missing) html += "<li>" + markup(each) + "</li>\n";
  return html + "</ul>\n";
}

Json verdict_json(const Verdict& verdict) {
  Json json = Json::object();
  for (const VerdictFigure& figure : verdict.figures) json[figure.key] = figure_json(figure);
  json["sentences"] = verdict.sentences;
  json["causes"] = causes_json(verdict.causes);
  json["helped"] = causes_json(verdict.helped);
  json["share_of"] = verdict.share_of.empty() ? Json() : Json(verdict.share_of);
  json["recipe"] = verdict.recipe.empty() ? Json() : Json(verdict.recipe);
  json["command"] = verdict.command.empty() ? Json() : Json(verdict.command);
  return json;
}

}  // namespace halftone::report::page
