// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/language_options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/base/printable.h"
#include "halftone/cli/interruption.h"
#include "halftone/cli/one_of.h"

namespace halftone::cli {
namespace {

void write(std::string_view text, bool is_terminal) {
  while (is_terminal && !text.empty()) {
    const std::size_t tab = std::min(text.find('\t'), text.size());
    std::cout << printable(text.substr(0, tab)) << (tab < text.size() ? "\t" : "");
    text.remove_prefix(std::min(tab + 1, text.size()));
  }
  std::cout << text << std::flush;
}

}  // namespace

void add_tokenizer_option(CLI::App& verb, std::string& tokenizer) {
  verb.add_option("--tokenizer", tokenizer, "Tokenizer of a .bin file of llama2.c")
      ->check(read_path());
}

CLI::Option* add_lora_option(CLI::App& verb, std::filesystem::path& lora) {
  return verb
      .add_option("--lora", lora,
                  "Low-rank changes of matrices: a folder of the package peft, or a GGUF file")
      ->check(read_path());
}

CLI::Option* add_device_option(CLI::App& verb, std::string& device) {
  return verb
      .add_option("--device", device,
                  "Where a language model runs, with the same logits: cpu, or a graphics card of "
                  "`halftone devices` such as cuda or opencl:0")
      ->default_str("cpu");
}

CalibrationOptions add_calibration_options(CLI::App& verb,
                                           std::vector<std::filesystem::path>& texts,
                                           bool& is_synthetic, const std::string& use) {
  CalibrationOptions options;
  options.text =
      verb.add_option("--text", texts, "Text in UTF-8 to " + use + "; several may be given")
          ->check(read_path());
  options.synthetic =
      verb.add_option_function<std::string>(
              "--calibrate", [&is_synthetic](const std::string&) { is_synthetic = true; },
              "synthetic: instead of --text, " + use + " samples that it writes itself")
          ->check(OneOf(std::vector<std::string>{"synthetic"}))
          ->excludes(options.text);
  return options;
}

void add_sample_options(CLI::App& verb, lm::SampleOptions& samples, compress::Damping& damping) {
  verb.add_option("--samples", samples.fit, "Samples to fit to, at most")
      ->check(whole_from(1))
      ->capture_default_str();
  verb.add_option("--held-out", samples.held_out, "Samples to judge by, which the fit does not see")
      ->check(whole_from(0))
      ->capture_default_str();
  verb.add_option("--sample-tokens", samples.tokens, "Tokens of a sample")
      ->check(whole_from(2))
      ->capture_default_str();
  verb.add_option("--damping", damping.channel,
                  "Share of each input's second moment that is added to it: more trusts the texts "
                  "less")
      ->check(non_negative_number())
      ->capture_default_str();
}

void add_rotation_option(CLI::App& verb, bool& rotates) {
  verb.add_flag("!--no-rotation", rotates,
                "Keep the basis of the model; else rotations spread outliers over the channels");
}

void add_language_options(CLI::App& verb, LanguageOptions& options) {
  verb.add_option("model", options.model, kLanguageModelText)->required()->check(read_path());
  add_tokenizer_option(verb, options.tokenizer);
  verb.add_option("--context", options.open.context,
                  "Tokens that the model remembers, which take memory (default: as many as it was "
                  "made for, 4096 at most)")
      ->check(whole_from(1));
  add_cache_option(verb, options.open.cache);
  add_lora_option(verb, options.open.lora);
  add_device_option(verb, options.open.device);
  verb.add_flag("--float-activations{false}", options.open.execution.int8_activations,
                "Round no activations to 8 bits: codes of weights are decoded to float32");
}

CLI::Option* add_cache_option(CLI::App& verb, ir::CacheNumbers& cache) {
  const auto set = [&cache](const std::string& name) {
    for (const auto each :
         {ir::CacheNumbers::kFloat32, ir::CacheNumbers::kFloat16, ir::CacheNumbers::kInt8}) {
      if (name == to_string(each)) cache = each;
    }
  };
  return verb
      .add_option_function<std::string>("--cache", set,
                                        "How a language model keeps keys and values")
      ->check(OneOf({"float32", "float16", "int8"}))
      ->default_str(std::string(to_string(cache)));
}

void add_generate_options(CLI::App& verb, v0::GenerateOptions& options) {
  v0::SamplingOptions& sampling = options.sampling;
  verb.add_option("--temperature", sampling.temperature,
                  "Divides the logits before a token is drawn; 0: always the most probable token")
      ->check(non_negative_number())
      ->capture_default_str();
  verb.add_option("--top-k", sampling.top_k, "Draw from the K most probable tokens; 0: from all")
      ->check(whole_from(0))
      ->capture_default_str();
  verb.add_option("--top-p", sampling.top_p,
                  "Draw from the fewest tokens that together have this probability; 1: from all")
      ->check(number_from(1e-9, 1))
      ->capture_default_str();
  verb.add_option("--min-p", sampling.min_p,
                  "Leave out tokens below this share of the highest probability; 0: none")
      ->check(number_from(0, 1))
      ->capture_default_str();
  verb.add_option("--repeat-penalty", sampling.repeat_penalty,
                  "Above 1: makes tokens of the last --repeat-window less probable")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--repeat-window", sampling.repeat_window,
                  "Tokens that --repeat-penalty looks back")
      ->check(whole_from(0))
      ->capture_default_str();
  verb.add_option("--stop", options.stops, "End in front of this text; repeatable")
      ->allow_extra_args(false);
}

std::function<bool(lm::TokenId, std::string_view)> token_output(bool quiet) {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  return [quiet, is_terminal](lm::TokenId /*token*/, std::string_view text) {
    if (!quiet && !text.empty()) write(text, is_terminal);
    return !Interruption::is_wanted();
  };
}

}  // namespace halftone::cli
