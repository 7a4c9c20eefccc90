// SPDX-License-Identifier: Apache-2.0
#include "halftone/language_quantize.hpp"

#include <utility>

#include "halftone/api/language_conversion.h"
#include "halftone/api/language_quantization.h"
#include "halftone/api/language_sensitivity.h"
#include "halftone/api/type_recipe.h"
#include "halftone/base/thread_settings.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

/// What both jobs have. @param options  LanguageQuantizeOptions or LanguageSensitivityOptions
template <typename Job, typename Options>
Job calibrated_job(const Options& options) {
  Job job;
  job.tokenizer = options.tokenizer;
  job.is_synthetic = options.synthetic;
  job.state = options.state;
  job.samples.fit = options.samples;
  job.samples.held_out = options.held_out;
  job.samples.tokens = options.sample_tokens;
  job.damping.channel = options.damping;
  job.rotates = options.rotates;
  job.seed = options.seed;
  return job;
}

LanguageQuantizeJob job_of(const LanguageQuantizeOptions& options) {
  auto job = calibrated_job<LanguageQuantizeJob>(options);
  job.recipe = options.types;
  for (TypeRule& rule : job.recipe.rules) {
    if (rule.where.empty()) rule.where = "types";
  }
  job.size = options.size_bytes;
  job.bits_per_weight = options.bits_per_weight;
  job.max_loss = options.max_loss;
  job.predicts_loss = options.predict_loss;
  job.recipe_output = options.recipe_output;
  job.groups.candidates = options.candidates;
  job.groups.sweeps = options.sweeps;
  job.is_decoded = options.decoded;
  return job;
}

LanguageSensitivityJob job_of(const LanguageSensitivityOptions& options) {
  auto job = calibrated_job<LanguageSensitivityJob>(options);
  job.choices = options.choices;
  return job;
}

}  // namespace

TypeRecipe load_type_recipe(const std::filesystem::path& path) {
  return at_border([&] { return halftone::load_type_recipe(path); });
}

TypeRecipe parse_type_recipe(std::string_view toml, const std::string& name) {
  return at_border([&] { return halftone::parse_type_recipe(toml, name); });
}

LanguageQuantizeReport quantize_language_model(const std::filesystem::path& model,
                                               std::span<const std::filesystem::path> texts,
                                               const std::filesystem::path& output,
                                               const LanguageQuantizeOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        LanguageQuantizeJob job = job_of(options);
        job.input = model;
        job.texts.assign(texts.begin(), texts.end());
        job.output = output;
        job.progress = sink_of(options.progress, raised);
        return halftone::quantize_language_model(job);
      },
      {&raised});
}

LanguageSensitivity language_sensitivity(const std::filesystem::path& model,
                                         std::span<const std::filesystem::path> texts,
                                         const LanguageSensitivityOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        LanguageSensitivityJob job = job_of(options);
        job.input = model;
        job.texts.assign(texts.begin(), texts.end());
        job.progress = sink_of(options.progress, raised);
        return halftone::language_sensitivity(job);
      },
      {&raised});
}

LanguageConvertReport convert_language_model(const std::filesystem::path& model,
                                             const std::filesystem::path& output,
                                             const std::filesystem::path& lora) {
  return at_border([&] { return halftone::convert_language_model({model, output, lora}); });
}

}  // namespace halftone::v0
