// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

/// White space as the rules mean it: PCRE2's \s has U+180E too.
constexpr std::string_view kSpace = R"(\t-\r\x{85}\p{Z})";

/// A pattern with \s and \S spelled out, inside classes and outside.
std::string with_spaces(const std::string& pattern) {
  std::string result;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 's') {
        result += in_class ? std::string(kSpace) : "[" + std::string(kSpace) + "]";
      } else if (next == 'S' && !in_class) {
        result += "[^" + std::string(kSpace) + "]";
      } else {
        result += {c, next};
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    result += c;
  }
  return result;
}

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// Rules by the names of GGUF. Sources: the tokenizer.json files of GPT-2, Llama 3, Qwen 2 and
// SmolLM 2 on the Hugging Face hub.
const std::string kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kDigit = R"(\p{N})";

/// Several names for one rule: the commonest first.
const std::vector<SplitRule>& all_rules() {
  static const std::vector<SplitRule> rules = {
      {"gpt-2", {kGpt2}},
      {"phi-2", {kGpt2}},
      {"olmo", {kGpt2}},
      {"mpt", {kGpt2}},
      {"llama-bpe", {kLlama3}, true},
      {"llama3", {kLlama3}, true},
      {"llama-v3", {kLlama3}, true},
      {"dbrx", {kLlama3}},
      {"smaug-bpe", {kLlama3}},
      {"qwen2", {kQwen2}},
      {"smollm", {kDigit, kGpt2}},
      {"starcoder", {kDigit, kGpt2}},
      {"refact", {kDigit, kGpt2}},
      {"command-r", {kDigit, kGpt2}},
  };
  return rules;
}

}  // namespace

const SplitRule& split_rule(std::string_view name) {
  std::string names;
  for (const SplitRule& rule : all_rules()) {
    if (rule.name == name) return rule;
    names.append(names.empty() ? "" : ", ").append(rule.name);
  }
  fail(ErrorKind::kUnsupported,
       "tokenizer.ggml.pre: expected one of " + names + ", found '" + std::string(name) + "'");
}

const SplitRule* find_split_rule(const std::vector<std::string>& patterns, bool takes_whole_words) {
  const auto found = std::ranges::find_if(all_rules(), [&](const SplitRule& rule) {
    return rule.patterns == patterns && rule.takes_whole_words == takes_whole_words;
  });
  return found == all_rules().end() ? nullptr : &*found;
}

struct Splitter::Pattern {
  explicit Pattern(const std::string& rule) : expression(rule) {
    int error = 0;
    PCRE2_SIZE at = 0;
    const std::string spelled = with_spaces(rule);
    code = {pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                          PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr),
            pcre2_code_free};
    if (code == nullptr) {
      fail(ErrorKind::kFormat, "splitting rule '" + rule + "': " + message_of(error));
    }
  }

  /// Appends the parts of a text.
  void split(std::string_view text, std::vector<std::string_view>& parts) const {
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
        pcre2_match_data_create_from_pattern(code.get(), nullptr), pcre2_match_data_free);
    if (match == nullptr) fail(ErrorKind::kMemory, "splitting text: there is not enough memory");
    std::size_t begin = 0;  // of what was not appended yet
    while (begin < text.size()) {
      const int count =
          pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), begin,
                      PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match.get(), nullptr);
      if (count == PCRE2_ERROR_NOMATCH) break;
      if (count < 0) {
        fail(ErrorKind::kUnsupported, "splitting text: " + message_of(count));
      }
      const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match.get());
      if (found[0] > begin) parts.push_back(text.substr(begin, found[0] - begin));
      parts.push_back(text.substr(found[0], found[1] - found[0]));
      begin = found[1];
    }
    if (begin < text.size()) parts.push_back(text.substr(begin));
  }

  std::string expression;
  std::unique_ptr<pcre2_code, void (*)(pcre2_code*)> code{nullptr, pcre2_code_free};
};

Splitter::Splitter(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    patterns_.push_back(std::make_shared<const Pattern>(pattern));
  }
}

std::vector<std::string> Splitter::patterns() const {
  std::vector<std::string> texts;
  for (const std::shared_ptr<const Pattern>& pattern : patterns_)
    texts.push_back(pattern->expression);
  return texts;
}

std::vector<std::string_view> Splitter::split(std::string_view text) const {
  std::vector<std::string_view> parts{text};
  for (const std::shared_ptr<const Pattern>& pattern : patterns_) {
    for (const std::string_view part : std::exchange(parts, {})) pattern->split(part, parts);
  }
  return parts;
}

}  // namespace halftone::lm
