// SPDX-License-Identifier: Apache-2.0
// The steps of tokenizer.json.
#include <algorithm>
#include <array>

#include "halftone/base/error.h"
#include "halftone/lm/text/json_parts.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm::tokenizer_json {
namespace {

using nlohmann::json;

/// A pattern {"String": "a"} or {"Regex": "a+"}.
Regex pattern_of(const json& step) {
  const json& pattern = member(step, "pattern");
  check_members("'pattern'", pattern, {"String", "Regex"});
  if (member(pattern, "Regex").is_string()) {
    return Regex(member(pattern, "Regex").get<std::string>());
  }
  return Regex(escaped_pattern(text_member(pattern, "String")));
}

void read_replace(const json& step, Steps& steps, Tokenizer::State& state) {
  const std::string content = text_member(step, "content");
  const json& from = member(member(step, "pattern"), "String");
  const bool is_space_sign = from == " " && content == kSpaceSign;
  steps.has_space_sign = steps.has_space_sign || is_space_sign;
  steps.has_others = steps.has_others || !is_space_sign;
  if (from.is_string() && !from.get_ref<const std::string&>().empty()) {
    state.normalizer.add(normalizer_step::replace_text(from.get<std::string>(), content));
  } else {
    state.normalizer.add(normalizer_step::replace(pattern_of(step), content));
  }
}

NormalizerStep bert_step(const json& step) {
  BertNormalizer options;
  options.cleans_text = flag_member(step, "clean_text", true);
  options.separates_chinese = flag_member(step, "handle_chinese_chars", true);
  options.lowers_case = flag_member(step, "lowercase", true);
  options.strips_accents = flag_member(step, "strip_accents", options.lowers_case);
  return normalizer_step::bert(options);
}

/// Steps that GGUF files do not name. @return  whether there is such a step
bool read_other_normalizer(const std::string& type, const json& step, Tokenizer::State& state) {
  Normalizer& normalizer = state.normalizer;
  if (type == "NFD") {
    normalizer.add(normalizer_step::normal_form(NormalForm::kD));
  } else if (type == "NFKC") {
    normalizer.add(normalizer_step::normal_form(NormalForm::kKC));
  } else if (type == "NFKD") {
    normalizer.add(normalizer_step::normal_form(NormalForm::kKD));
  } else if (type == "Lowercase") {
    normalizer.add(normalizer_step::lower_case());
  } else if (type == "Strip") {
    normalizer.add(normalizer_step::strip(flag_member(step, "strip_left", true),
                                          flag_member(step, "strip_right", true)));
  } else if (type == "StripAccents") {
    normalizer.add(normalizer_step::strip_accents());
  } else if (type == "BertNormalizer") {
    normalizer.add(bert_step(step));
  } else if (type == "Nmt") {
    normalizer.add(normalizer_step::nmt());
  } else if (type == "ByteLevel") {
    normalizer.add([](NormalText& text) {
      text.front = characters_from_bytes(text.text.substr(0, text.front)).size();
      text.text = characters_from_bytes(text.text);
    });
  } else if (type == "Precompiled") {
    normalizer.add(normalizer_step::precompiled(
        Charsmap(from_base64(optional_text(step, "precompiled_charsmap")))));
  } else {
    return false;
  }
  return true;
}

SplitBehavior behavior_of(const json& step, const char* otherwise) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {
      {{"Removed", SplitBehavior::kRemoved},
       {"Isolated", SplitBehavior::kIsolated},
       {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
       {"MergedWithNext", SplitBehavior::kMergedWithNext},
       {"Contiguous", SplitBehavior::kContiguous}}};
  const std::string name =
      member(step, "behavior").is_null() ? otherwise : text_member(step, "behavior");
  for (const auto& [known, behavior] : kNames) {
    if (known == name) return behavior;
  }
  refuse("pre_tokenizer: 'behavior' is not known", member(step, "behavior"));
}

void read_byte_level(const json& step, Steps& steps, Tokenizer::State& state) {
  steps.has_bytes = true;
  if (flag_member(step, "add_prefix_space", false)) {
    steps.has_others = steps.has_others || !steps.patterns.empty();
    steps.adds_space = true;
    state.pre_tokenizer.add(pre_tokenizer_step::add_space());
  }
  if (!flag_member(step, "use_regex", true)) return;
  const std::string& pattern = split_rule("gpt-2").patterns[0];
  steps.patterns.push_back(pattern);
  state.pre_tokenizer.add(pre_tokenizer_step::split(Regex(pattern), SplitBehavior::kIsolated));
}

void read_digits(const json& step, Steps& steps, Tokenizer::State& state) {
  const bool is_individual = flag_member(step, "individual_digits", false);
  steps.patterns.emplace_back(is_individual ? R"(\p{N})" : R"(\p{N}+)");
  state.pre_tokenizer.add(pre_tokenizer_step::split_at(
      is_number, is_individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
}

void read_split(const json& step, Steps& steps, Tokenizer::State& state) {
  // Gemma's files split at spaces, of which the normalizer has left none.
  const bool is_empty = steps.has_space_sign && member(member(step, "pattern"), "String") == " ";
  const json& pattern = member(member(step, "pattern"), "Regex");
  const SplitBehavior behavior = behavior_of(step, "");
  const bool is_inverted = flag_member(step, "invert", false);
  if (pattern.is_string() && behavior == SplitBehavior::kIsolated && !is_inverted) {
    steps.patterns.push_back(pattern.get<std::string>());
  } else {
    steps.has_others = steps.has_others || !is_empty;
  }
  state.pre_tokenizer.add(pre_tokenizer_step::split(pattern_of(step), behavior, is_inverted));
}

/// A text of one character.
std::string sign_of(const json& step, const char* key) {
  std::string sign = text_member(step, key);
  if (sign.empty() || utf8_length(sign) != sign.size()) {
    fail_format("'" + std::string(key) + "': expected one character");
  }
  return sign;
}

PrependScheme scheme_of(const json& step) {
  const json& name = member(step, "prepend_scheme");
  if (name == "never") return PrependScheme::kNever;
  if (name == "first") return PrependScheme::kFirst;
  if (name != "always" && !name.is_null()) refuse("'prepend_scheme' is not known", name);
  // Files of old versions have this instead.
  return flag_member(step, "add_prefix_space", true) ? PrependScheme::kAlways
                                                     : PrependScheme::kNever;
}

void read_metaspace(const json& step, Steps& steps, Tokenizer::State& state) {
  const std::string sign = sign_of(step, "replacement");
  const PrependScheme scheme = scheme_of(step);
  const bool splits = flag_member(step, "split", true);
  steps.has_others = steps.has_others || splits || sign != kSpaceSign;
  steps.has_space_sign = true;
  steps.adds_space = steps.adds_space || scheme != PrependScheme::kNever;
  state.pre_tokenizer.add(pre_tokenizer_step::metaspace(sign, scheme, splits));
}

/// Steps that GGUF files do not name. @return  whether there is such a step
bool read_other_pre_tokenizer(const std::string& type, const json& step,
                              PreTokenizer& pre_tokenizer) {
  const auto at = [&](const std::function<bool(char32_t)>& is_separator, SplitBehavior behavior) {
    pre_tokenizer.add(pre_tokenizer_step::split_at(is_separator, behavior));
  };
  if (type == "Whitespace") {
    pre_tokenizer.add(pre_tokenizer_step::words());
  } else if (type == "WhitespaceSplit") {
    at(is_white_space, SplitBehavior::kRemoved);
  } else if (type == "Punctuation") {
    at(is_punctuation, behavior_of(step, "Isolated"));
  } else if (type == "BertPreTokenizer") {
    at(is_white_space, SplitBehavior::kRemoved);
    at(is_punctuation, SplitBehavior::kIsolated);
  } else if (type == "CharDelimiterSplit") {
    const char32_t sign = utf8_code_point(sign_of(step, "delimiter"));
    at([sign](char32_t c) { return c == sign; }, SplitBehavior::kRemoved);
  } else if (type == "FixedLength") {
    const std::size_t length = count_member(step, "length", 5);
    if (length == 0) fail_format("'length': expected 1 or more");
    pre_tokenizer.add(pre_tokenizer_step::fixed_length(length));
  } else {
    return false;
  }
  return true;
}

/// Adds a step of a decoder. @param is_whole  a step Fuse was before: all tokens are one text
void read_decoder_step(const json& step, bool is_whole, TextDecoder& decoder) {
  const std::string type = text_member(step, "type");
  check_members(
      "decoder " + type, step,
      {"type", "content", "start", "stop", "pattern", "replacement", "prepend_scheme", "split",
       "add_prefix_space", "str_rep", "prefix", "cleanup", "suffix", "trim_offsets", "use_regex"});
  if (type == "ByteLevel") {
    decoder.add(decoder_step::bytes());
  } else if (type == "Strip") {
    const std::string content = sign_of(step, "content");
    const std::size_t back = count_member(step, "stop", 0);
    if (is_whole && back > 0) refuse("decoder: Strip of the end of texts is not known", step);
    decoder.add(decoder_step::strip_front(content, count_member(step, "start", 0), is_whole));
    decoder.add(decoder_step::strip_back(content, back));
  } else if (type == "Replace") {
    const json& from = member(member(step, "pattern"), "String");
    if (!from.is_string() || from.get_ref<const std::string&>().empty()) {
      refuse("decoder: expected a Replace of a String", step);
    }
    decoder.add(decoder_step::replace_text(from.get<std::string>(), text_member(step, "content")));
  } else if (type == "Metaspace") {
    decoder.add(decoder_step::metaspace(sign_of(step, "replacement"),
                                        scheme_of(step) != PrependScheme::kNever));
  } else if (type == "WordPiece") {
    decoder.add(
        decoder_step::word_pieces(text_member(step, "prefix"), flag_member(step, "cleanup", true)));
  } else if (type == "BPEDecoder") {
    const std::string suffix = text_member(step, "suffix");
    if (!suffix.empty()) decoder.add(decoder_step::replace_text(suffix, " "));
  } else if (type != "ByteFallback" && type != "Fuse") {
    refuse("decoder: " + type + " is not known", step);
  }
}

}  // namespace

void read_normalizer(const json& normalizer, Steps& steps, Tokenizer::State& state) {
  for (const json& step : steps_of(normalizer, "normalizers")) {
    const std::string type = text_member(step, "type");
    check_members(
        "normalizer " + type, step,
        {"type", "prepend", "pattern", "content", "strip_left", "strip_right", "clean_text",
         "handle_chinese_chars", "strip_accents", "lowercase", "precompiled_charsmap"});
    if (type == "NFC") {
      state.normalizer.add(normalizer_step::normal_form(NormalForm::kC));
    } else if (type == "Prepend") {
      const std::string content = text_member(step, "prepend");
      state.normalizer.add(normalizer_step::prepend(content));
      steps.adds_space = content == kSpaceSign;
      steps.has_others = steps.has_others || content != kSpaceSign || steps.has_space_sign;
    } else if (type == "Replace") {
      read_replace(step, steps, state);
    } else if (read_other_normalizer(type, step, state)) {
      steps.has_others = true;
    } else {
      refuse("normalizer: " + type + " is not known", step);
    }
  }
}

void read_pre_tokenizer(const json& pre_tokenizer, Steps& steps, Tokenizer::State& state) {
  for (const json& step : steps_of(pre_tokenizer, "pretokenizers")) {
    const std::string type = text_member(step, "type");
    check_members("pre_tokenizer " + type, step,
                  {"type", "add_prefix_space", "trim_offsets", "use_regex", "individual_digits",
                   "pattern", "behavior", "invert", "replacement", "prepend_scheme", "split",
                   "str_rep", "delimiter", "length"});
    if (steps.has_bytes) refuse("pre_tokenizer: a step behind ByteLevel is not known", step);
    if (type == "ByteLevel") {
      read_byte_level(step, steps, state);
    } else if (type == "Digits") {
      read_digits(step, steps, state);
    } else if (type == "Split") {
      read_split(step, steps, state);
    } else if (type == "Metaspace") {
      read_metaspace(step, steps, state);
    } else if (read_other_pre_tokenizer(type, step, state.pre_tokenizer)) {
      steps.has_others = true;
    } else {
      refuse("pre_tokenizer: " + type + " is not known", step);
    }
  }
}

bool decodes_bytes(const json& decoder) {
  return std::ranges::any_of(steps_of(decoder, "decoders"), [](const json& step) {
    return member(step, "type") == "ByteFallback";
  });
}

void read_decoder(const json& decoder, const Steps& steps, Tokenizer::State& state) {
  const std::vector<json> list = steps_of(decoder, "decoders");
  state.shows_byte_names = !list.empty() && !decodes_bytes(decoder);
  if (steps.has_bytes) {
    if (list.size() > 1 || (list.size() == 1 && text_member(list[0], "type") != "ByteLevel")) {
      refuse("decoder: expected ByteLevel, as the pre_tokenizer", decoder);
    }
    // A file without a decoder gets the opposite of its pre_tokenizer.
    if (list.empty() && steps.adds_space)
      state.decoder.add(decoder_step::strip_front(" ", 1, true));
    return;
  }
  if (list.empty() && !steps.has_space_sign) return state.decoder.add(decoder_step::words());
  if (list.empty()) {
    state.decoder.add(decoder_step::replace_text(std::string(kSpaceSign), " "));
    if (steps.adds_space) state.decoder.add(decoder_step::strip_front(" ", 1, true));
  }
  bool is_whole = false;
  for (const json& step : list) {
    read_decoder_step(step, is_whole, state.decoder);
    is_whole = is_whole || member(step, "type") == "Fuse";
  }
}

}  // namespace halftone::lm::tokenizer_json
