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

/// The job of some options.
template <typename Job, typename Options>
Job job_of(const std::filesystem::path& model, std::span<const std::filesystem::path> texts,
           const Options& options, CallerException& raised) {
  Job job{options};
  job.input = model;
  job.texts.assign(texts.begin(), texts.end());
  job.sink = sink_of(options.progress, raised);
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
        auto job = job_of<LanguageQuantizeJob>(model, texts, options, raised);
        job.output = output;
        for (TypeRule& rule : job.types.rules) {
          if (rule.where.empty()) rule.where = "types";
        }
        return halftone::quantize_language_model(job);
      },
      {&raised});
}

Sensitivity language_sensitivity(const std::filesystem::path& model,
                                 std::span<const std::filesystem::path> texts,
                                 const LanguageSensitivityOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        return halftone::language_sensitivity(
            job_of<LanguageSensitivityJob>(model, texts, options, raised));
      },
      {&raised});
}

LanguageConvertReport convert_language_model(const std::filesystem::path& model,
                                             const std::filesystem::path& output,
                                             const std::filesystem::path& lora) {
  return at_border([&] { return halftone::convert_language_model({model, output, lora}); });
}

}  // namespace halftone::v0
