// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/api/language_model.h"
#include "halftone/api/text_embedding.h"
#include "halftone/base/error.h"
#include "halftone/cli/language_options.h"
#include "halftone/data/npy.h"
#include "halftone/report/language.h"

namespace halftone::cli {
namespace {

struct EmbedVerbOptions {
  CommonOptions common;
  LanguageOptions language;
  std::vector<std::string> texts;
  std::string file;    ///< with a text in each line
  std::string output;  ///< empty: standard output
  std::size_t dimensions = 0;
};

std::vector<std::string> texts_of(const EmbedVerbOptions& options) {
  std::vector<std::string> texts = options.texts;
  if (!options.file.empty()) {
    for (std::string& line : lines_of(options.file)) texts.push_back(std::move(line));
  }
  if (texts.empty()) fail(ErrorKind::kUsage, "expected a text: --prompt or --file");
  return texts;
}

void write_vectors(const std::string& path, const std::vector<std::vector<float>>& vectors) {
  data::NpyArray all{.shape = {vectors.size(), vectors[0].size()}, .data = {}};
  for (const std::vector<float>& each : vectors) {
    const auto bytes = std::as_bytes(std::span(each));
    all.data.insert(all.data.end(), bytes.begin(), bytes.end());
  }
  data::write_npy(path, all);
}

void run(const EmbedVerbOptions& options, const Machine& machine) {
  if (follows(options.language.model, options.language.open, options.common, machine)) return;
  apply(options.common);
  const std::vector<std::string> texts = texts_of(options);
  OpenOptions open = options.language.open;
  open.ranks = machine.ranks();
  const TextModel model = TextModel::open(options.language.model, open);
  Progress(options.common, machine).print_warnings(model.warnings());
  const std::vector<std::vector<float>> vectors = embed(model, texts, options.dimensions);
  if (!options.output.empty()) write_vectors(options.output, vectors);
  if (options.common.json) {
    std::cout << report::vectors_to_json(vectors);
  } else if (options.output.empty()) {
    for (const std::vector<float>& each : vectors)
      std::cout << fmt::format("{}\n", fmt::join(each, " "));
  }
}

}  // namespace

void add_embed(CLI::App& app, Action& action) {
  const auto options = std::make_shared<EmbedVerbOptions>();
  CLI::App* verb =
      add_verb(app, "embed", "Turn texts into vectors with a language model",
               "halftone embed model.gguf -p \"A cat\" -o vectors.npy", options->common);
  add_text_model_options(*verb, options->language);
  verb->add_option("-p,--prompt", options->texts,
                   "Text to turn into a vector of length 1; repeatable")
      ->allow_extra_args(false);
  verb->add_option("-f,--file", options->file, "File with a text in each line, behind those")
      ->check(read_path());
  verb->add_option("--dimensions", options->dimensions,
                   "The first numbers of each vector only, of length 1 again; 0: all")
      ->check(whole_from(0))
      ->capture_default_str();
  verb->add_option("-o,--output", options->output,
                   "File for the vectors (.npy), float32 [texts, dimensions], in place of lines")
      ->check(written_path());
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
