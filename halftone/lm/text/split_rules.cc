// SPDX-License-Identifier: Apache-2.0
// Sources: the tokenizer.json files of the models that the rules are named by, and
// ggml-org/llama.cpp, src/llama-vocab.cpp, where its rules differ from these files.
#include "halftone/lm/text/split_rules.h"

#include <algorithm>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

const std::string kContractions = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
const std::string kEndOfLines = R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kLetters = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
const std::string kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// As Llama 3's, with another number of digits or other words.
std::string llama_3(const std::string& digits, const std::string& word = kLetters) {
  return kContractions + "|" + word + "|" + digits + R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)" + kEndOfLines;
}

/// As GPT-4o's. Letters of other scripts than Latin are of both cases, as in llama.cpp.
std::string gpt_4o(const std::string& letter, const std::string& contractions,
                   const std::string& digits) {
  const std::string upper = "(?:(?=" + letter + ")[^a-z])";
  const std::string lower = "(?:(?=" + letter + ")[^A-Z])";
  const std::string front = R"([^\r\n\p{L}\p{N}]?)";
  return front + upper + "*" + lower + "+" + contractions + "|" + front + upper + "+" + lower +
         "*" + contractions + "|" + digits + R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)" + kEndOfLines;
}

/// Words and punctuation of DeepSeek 3.
std::string deepseek_3(const std::string& ends) {
  return R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
         R"(| ?[\p{P}\p{S}]+)" +
         ends;
}

const std::string kLlama3 = llama_3(R"(\p{N}{1,3})");
const std::string kQwen2 = llama_3(R"(\p{N})");
const std::string kDigit = R"(\p{N})";
const std::string kUpTo3Digits = R"(\p{N}{1,3})";
/// Digits in threes from the back.
const std::string kThousands = R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))";
const std::string kLines = R"([^\n]+|[\n]+)";
const std::string kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
const std::string kKanaAndHan = "[一-龥぀-ゟ゠-ヿ]+";

/// The letters of Latin, Greek, Cyrillic and such that DeepSeek's first models list.
const std::string kDeepSeekLetters =
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-)"
    R"(\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-)"
    R"(\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-)"
    R"(\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})"
    R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B})"
    R"(\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4})"
    R"(\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-)"
    R"(\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D})"
    R"(\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F})"
    R"(\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-)"
    R"(\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-)"
    R"(\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})"
    R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-)"
    R"(\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})";

/// Of Kimi K2: letters without Chinese ones.
std::string kimi_k2() {
  const std::string han =
      R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2EBEF}\x{F900}-\x{FAFF})"
      R"(\x{2F800}-\x{2FA1F}])";
  return han + R"(+|[^\r\n\p{L}\p{N}]?(?:(?!)" + han + R"()\p{L})+)" + kContractions +
         R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" + kEndOfLines;
}

std::string youtu() {
  const std::string other = R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)" + kContractions + "?";
  return other + R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" + kEndOfLines;
}

std::string jais_2() {
  std::string rule =
      kContractions + "|" + kLetters + R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)";
  for (const char* count : {"512", "256", "128", "64", "32", "16", "8", "4", "1,2"}) {
    rule.append(R"(|\s{)").append(count).append(R"(}(?!\S))");
  }
  return rule + R"(|\s)";
}

using Patterns = std::vector<std::string>;

const SplitRule* split_rule_in(const std::vector<SplitRule>& rules, std::string_view name) {
  const auto found = std::ranges::find(rules, name, &SplitRule::name);
  return found == rules.end() ? nullptr : &*found;
}

/// Rules with one pattern or two that many models have.
void add_common_rules(std::vector<SplitRule>& rules) {
  for (const char* name :
       {"gpt-2", "phi-2", "olmo", "mpt", "jais", "trillion", "granite-docling", "exaone4",
        "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de", "a.x-4.0", "mellum",
        "modern-bert", "jina-v1-en", "jina-v2-code", "roberta-bpe"}) {
    rules.push_back({name, {kGpt2}});
  }
  for (const char* name : {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral",
                           "midm-2.0", "lfm2", "jina-v5-nano"}) {
    rules.push_back({name, {kLlama3}, true, true});
  }
  for (const char* name : {"dbrx", "smaug-bpe", "chatglm-bpe"}) rules.push_back({name, {kLlama3}});
  for (const char* name : {"glm4", "glm5"}) rules.push_back({name, {kLlama3}, true});
  for (const char* name : {"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "kormo",
                           "f2llmv2", "solar-open", "grok-2"}) {
    rules.push_back({name, {kQwen2}});
  }
  for (const char* name : {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone",
                           "minerva-7b", "mellum2"}) {
    rules.push_back({name, {kDigit, kGpt2}});
  }
  for (const char* name : {"poro-chat", "bloom", "gpt3-finnish"}) rules.push_back({name, {kBloom}});
  for (const char* name : {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}) {
    rules.push_back({name, {gpt_4o(R"(\p{L})", kContractions + "?", kUpTo3Digits)}});
  }
  for (const char* name : {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}) {
    rules.push_back({name, {kUpTo3Digits, kKanaAndHan, deepseek_3("[\\r\\n]*" + kEndOfLines)}});
  }
  for (const char* name : {"bailingmoe", "bailingmoe2", "llada-moe"}) {
    rules.push_back(
        {name,
         {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
          R"(|\s*[\r\n]|\s+(?!\S)|\s+)"}});
  }
}

void add_rules_of_steps(std::vector<SplitRule>& rules) {
  const std::string marked = R"(\p{L}\p{M})";
  const Patterns deepseek_llm = {
      R"([\r\n])", R"(\s?[)" + kDeepSeekLetters + "]+", R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)",
      R"(\s+$)",   R"([一-龥ࠀ-一가-\x{D7FF}]+)",        R"(\p{N}+)"};
  const Patterns deepseek_coder = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                   R"([一-龥ࠀ-一가-\x{D7FF}]+)", kDigit};
  const Patterns chameleon = {R"(<sentinel:[0-9]+>)",    R"((?:IMGIMG)[A-I]{1,4}Z)",
                              R"([\t\n]|    |  )",       kDigit,
                              R"([\p{P}!-/:-@\[-`{-~])", kGpt2};
  const std::vector<SplitRule> others = {
      {"qwen35",
       {kContractions + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" +
        kEndOfLines}},
      {"deepseek-llm", deepseek_llm},
      {"deepseek-coder", deepseek_coder},
      {"falcon", {R"([\p{P}$+<=>^~|`]+)", kGpt2, "[0-9][0-9][0-9]"}},
      {"default", {R"([\p{P}$+<=>^~|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {"viking", {kBloom, kDigit}},
      {"tekken", {gpt_4o(R"(\p{L})", "", kDigit)}, true, true},
      {"granite-embed-multi-97m",
       {gpt_4o("[" + marked + "]", kContractions + "?", kUpTo3Digits)},
       true},
      {"chameleon", chameleon, false, true},
      {"superbpe", {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}},
  };
  rules.insert(rules.end(), others.begin(), others.end());
}

void add_other_rules(std::vector<SplitRule>& rules) {
  const std::string asian =
      "[一-鿿㐀-䶿豈-\\x{FAFF}぀-ゟ゠-ヿ･-ﾟ⼀-⿟\\x{E40}-\\x{E7F}\\x{E80}-\\x{EFF}"
      "\\x{1780}-\\x{17FF}\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}\\x{A9E0}-\\x{A9FF}가-\\x{D7AF}"
      "\\x{1100}-\\x{11FF}]+";
  const std::string marks_of_youtu =
      "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-"
      "ゟ゠-"
      "ヿ]"
      "+";
  const std::vector<SplitRule> others = {
      {"kimi-k2", {kimi_k2()}},
      {"seed-coder",
       {kContractions + "|" + kLetters + R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)" + kEndOfLines}},
      {"ufakzeka", {kLetters + R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" + kEndOfLines}},
      {"afmoe", {kThousands, asian, deepseek_3("[\\r\\n]*" + kEndOfLines)}},
      {"laguna", {kLines, kQwen2}},
      {"exaone-moe",
       {kContractions + R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})"
                        R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}},
      {"minicpm5", {kUpTo3Digits, llama_3(R"(\p{N}+)")}, true},
      {"spark2_5", {kUpTo3Digits, kKanaAndHan, deepseek_3(R"(|[\r\n]|\s+(?!\S)|\s+)"), kDigit}},
      {"jais-2", {jais_2()}},
      {"youtu", {marks_of_youtu, youtu()}, true},
      {"tiny_aya",
       {kThousands, R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)" + kContractions +
                        R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" + kEndOfLines}},
  };
  rules.insert(rules.end(), others.begin(), others.end());
  rules.push_back({"cohere2moe", split_rule_in(rules, "tiny_aya")->patterns});
}

/// Several names for one rule: the commonest first.
const std::vector<SplitRule>& all_rules() {
  static const std::vector<SplitRule> rules = [] {
    std::vector<SplitRule> made;
    add_common_rules(made);
    add_rules_of_steps(made);
    add_other_rules(made);
    return made;
  }();
  return rules;
}

}  // namespace

const SplitRule& split_rule(std::string_view name) {
  if (const SplitRule* rule = split_rule_in(all_rules(), name)) return *rule;
  std::string names;
  for (const SplitRule& rule : all_rules()) {
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

}  // namespace halftone::lm
