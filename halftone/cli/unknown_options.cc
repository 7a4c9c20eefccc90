// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/unknown_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include "halftone/base/near_names.h"

namespace halftone::cli {
namespace {

/// A name that other programs have for an option.
struct Synonym {
  std::string_view written;  ///< without dashes in front, in lower case, "-" in place of "_"
  std::string_view option;   ///< of a verb that has it
  std::string_view more{};   ///< behind the option: another one to mention
};

constexpr Synonym kSynonyms[] = {
    {"bits", "--weight-bits", " and --activation-bits"},
    {"nbits", "--weight-bits", " and --activation-bits"},
    {"wbits", "--weight-bits"},
    {"w-bits", "--weight-bits"},
    {"weights-bits", "--weight-bits"},
    {"abits", "--activation-bits"},
    {"a-bits", "--activation-bits"},
    {"act-bits", "--activation-bits"},
    {"weight-type", "--weight-scheme"},
    {"weight-format", "--weight-scheme"},
    {"weight-dtype", "--weight-scheme"},
    {"activation-type", "--activation-scheme"},
    {"activation-dtype", "--activation-scheme"},
    {"dtype", "--scheme"},
    {"format", "--scheme"},
    {"preset", "--scheme"},
    {"mode", "--scheme"},
    {"quant-mode", "--scheme"},
    {"symmetric", "--scheme", " symmetric"},
    {"calibrate-method", "--calibrator"},
    {"calibration-method", "--calibrator"},
    {"calib-method", "--calibrator"},
    {"range-estimator", "--calibrator"},
    {"per-channel", "--recipe", ", whose key granularity says it"},
    {"group-size", "--recipe", ", whose key group_size says it"},
    {"groupsize", "--recipe", ", whose key group_size says it"},
    {"ignored-scope", "--recipe", ", whose key skip says it"},
    {"nodes-to-exclude", "--recipe", ", whose key skip says it"},
    {"calibration-dataset", "--data"},
    {"calibration-data", "--data"},
    {"calib", "--data"},
    {"dataset", "--data"},
    {"calibrate-dataset", "--data"},
    {"subset-size", "--limit"},
    {"num-samples", "--limit"},
    {"nsamples", "--limit"},
    {"samples", "--limit"},
    {"max-samples", "--limit"},
    {"num-calib-samples", "--limit"},
    {"batch-size", "--batch"},
    {"ubatch-size", "--batch"},
    {"int8", "--full-integer"},
    {"qdq", "--standard"},
    {"quant-format", "--standard"},
    {"input-shape", "--shape"},
    {"input-shapes", "--shape"},
    {"temp", "--temperature"},
    {"n-predict", "--tokens"},
    {"predict", "--tokens"},
    {"max-tokens", "--tokens"},
    {"max-new-tokens", "--tokens"},
    {"max-length", "--tokens"},
    {"ctx-size", "--context"},
    {"n-ctx", "--context"},
    {"ctx", "--context"},
    {"max-seq-len", "--context"},
    {"seqlen", "--sample-tokens"},
    {"repeat-last-n", "--repeat-window"},
    {"repetition-penalty", "--repeat-penalty"},
    {"chat-template", "--template"},
    {"system-prompt", "--system"},
    {"cache-type-k", "--cache"},
    {"cache-type-v", "--cache"},
    {"ctk", "--cache"},
    {"ctv", "--cache"},
    {"chunks", "--windows"},
    {"ppl-stride", "--stride"},
    {"perplexity", "--text"},
    {"n-prompt", "--prompt"},
    {"n-gen", "--generate"},
    {"n-depth", "--depth"},
    {"imatrix", "--text"},
    {"qtype", "--type"},
    {"quant-type", "--type"},
    {"ftype", "--type"},
    {"tensor-type", "--tensor"},
    {"output-tensor-type", "--table-type"},
    {"token-embedding-type", "--table-type"},
    {"lr", "--learning-rate"},
    {"rate", "--learning-rate"},
    {"wd", "--weight-decay"},
    {"max-grad-norm", "--clip-grad-norm"},
    {"grad-clip", "--clip-grad-norm"},
    {"scheduler", "--schedule"},
    {"lr-scheduler", "--schedule"},
    {"warmup", "--warmup-epochs"},
    {"val-split", "--validation-split"},
    {"early-stopping", "--patience"},
    {"num-epochs", "--epochs"},
    {"amp", "--precision"},
    {"workers", "--threads"},
    {"num-threads", "--threads"},
    {"num-workers", "--threads"},
    {"t", "--threads"},
    {"s", "--seed"},
    {"random-seed", "--seed"},
    {"out", "--output"},
    {"out-file", "--output"},
    {"outfile", "--output"},
    {"output-file", "--output"},
    {"output-dir", "--output"},
    {"save", "--output"},
    {"target", "--accelerator"},
    {"hardware", "--accelerator"},
    {"warmup-runs", "--seconds"},
    {"iterations", "--seconds"},
    {"float-model", "--reference"},
    {"baseline", "--reference"},
};

/// Options that name the network or model, which has no option here.
constexpr std::string_view kModelNames[] = {"model",       "m",    "input-model",
                                            "model-input", "onnx", "model-path"};

std::string plain(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  std::string name(option.substr(0, option.find('=')));
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return name;
}

std::vector<std::string> option_names(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The suggestion for an option; empty if there is none.
std::string suggestion(const CLI::App& verb, std::string_view written) {
  const std::string name = plain(written);
  if (name.empty()) return "";
  const std::vector<std::string> names = option_names(verb);
  const auto has = [&](std::string_view option) {
    return std::ranges::find(names, option) != names.end();
  };
  if (has("--" + name)) return "--" + name;
  for (const Synonym& each : kSynonyms) {
    if (each.written != name || !has(each.option)) continue;
    return std::string(each.option) + std::string(each.more);
  }
  if (std::ranges::find(kModelNames, name) != std::end(kModelNames)) {
    return "the file alone, without an option";
  }
  return nearest_name("--" + name, names).value_or("");
}

std::string with_suggestion(std::string message, const std::string& meant) {
  return meant.empty() ? message : message + "; did you mean " + meant + "?";
}

bool is_unknown_option(const CLI::App& verb, const std::string& argument) {
  if (argument.size() < 2 || argument[0] != '-') return false;
  if (argument[1] >= '0' && argument[1] <= '9') return false;
  const std::string name = argument.substr(0, argument.find('='));
  return verb.get_option_no_throw(name) == nullptr;
}

}  // namespace

std::string unknown_message(const CLI::App& app, std::span<const std::string> arguments) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const std::vector<std::string> left = app.remaining();
    std::vector<std::string> verbs;
    for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
    const std::string word = left.empty() ? "" : left.front();
    const bool is_option = word.starts_with('-');
    return with_suggestion((is_option ? "unknown option '" : "unknown verb '") + word + "'",
                           is_option ? "" : nearest_name(word, verbs).value_or(""));
  }
  const CLI::App& verb = *chosen.front();
  const std::vector<std::string> left = app.remaining(true);
  const auto is_left = [&](const std::string& argument) {
    return std::ranges::find(left, argument) != left.end();
  };
  for (const std::string& argument : arguments) {
    if (!is_left(argument) || !is_unknown_option(verb, argument)) continue;
    const std::string name = argument.substr(0, argument.find('='));
    return with_suggestion("unknown option '" + name + "'", suggestion(verb, argument));
  }
  const auto first = std::ranges::find_if(arguments, is_left);
  return "unexpected argument '" + (first != arguments.end() ? *first : "") + "'";
}

}  // namespace halftone::cli
