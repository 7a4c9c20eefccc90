// SPDX-License-Identifier: Apache-2.0
// Quantizes, measures and converts language models, from file to file.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "halftone/api/language_conversion.h"
#include "halftone/api/language_quantization.h"
#include "halftone/api/language_sensitivity.h"
#include "halftone/api/type_recipe.h"
#include "halftone/base/thread_settings.h"
#include "halftone/report/language.h"
#include "python/src/bind.h"
#include "python/src/progress.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// Patterns and types.
using Rules = std::vector<std::pair<std::string, std::string>>;

/// The job, and what it is made of in Python.
struct LanguageQuantizeArguments {
  LanguageQuantizeJob job{};
  std::optional<std::filesystem::path> recipe{};
  std::string recipe_text{};  ///< in place of a file
  nb::object progress = nb::none();
};

lm::TypeRecipe types_of(const LanguageQuantizeArguments& how) {
  if (how.recipe) return with_types(load_type_recipe(*how.recipe), how.job.recipe);
  return with_types(parse_type_recipe(how.recipe_text, "recipe"), how.job.recipe);
}

Texts quantize_language(const std::filesystem::path& model,
                        const std::vector<std::filesystem::path>& texts,
                        const std::filesystem::path& output, const LanguageQuantizeArguments& how) {
  Reporter reporter(how.progress);
  LanguageQuantizeJob job = how.job;
  job.input = model;
  job.texts = texts;
  job.output = output;
  job.progress = reporter.sink();
  return reporter.run([&] {
    ThreadSettings settings = thread_settings();
    settings.threads = job.threads;
    const UseThreadSettings use(settings);
    job.recipe = types_of(how);
    const LanguageQuantizeReport found = quantize_language_model(job);
    return Texts(report::to_text(found), report::to_json(found));
  });
}

Texts convert_language(const std::filesystem::path& model, const std::filesystem::path& output,
                       const std::filesystem::path& lora) {
  const nb::gil_scoped_release release;
  const LanguageConvertReport found = convert_language_model({model, output, lora});
  return {report::to_text(found), report::to_json(found)};
}

/// @param how  without types
Texts language_sensitivity_texts(const std::filesystem::path& model,
                                 const std::vector<std::filesystem::path>& texts,
                                 const std::vector<std::string>& choices,
                                 const LanguageQuantizeArguments& how) {
  Reporter reporter(how.progress);
  const LanguageQuantizeJob& given = how.job;
  const LanguageSensitivityJob job{.input = model,
                                   .tokenizer = given.tokenizer,
                                   .texts = texts,
                                   .is_synthetic = given.is_synthetic,
                                   .state = given.state,
                                   .choices = choices,
                                   .samples = given.samples,
                                   .damping = given.damping,
                                   .rotates = given.rotates,
                                   .seed = given.seed,
                                   .threads = given.threads,
                                   .progress = reporter.sink()};
  return reporter.run([&] {
    ThreadSettings settings = thread_settings();
    settings.threads = job.threads;
    const UseThreadSettings use(settings);
    const LanguageSensitivity found = language_sensitivity(job);
    return Texts(report::to_text(found), report::to_json(found));
  });
}

using LanguageHowClass = nb::class_<LanguageQuantizeArguments>;
using Job = LanguageQuantizeJob;
using Path = std::filesystem::path;

/// A property of the job.
template <typename Field>
void bind_field(LanguageHowClass& bound, const char* name, const Field& field) {
  bound.def_prop_rw(
      name, [field](LanguageQuantizeArguments& how) { return field(how.job); },
      [field](LanguageQuantizeArguments& how, std::decay_t<decltype(field(how.job))> value) {
        field(how.job) = std::move(value);
      });
}

void bind_types(LanguageHowClass& how) {
  bind_field(how, "type", [](Job& job) -> std::string& { return job.recipe.type; });
  bind_field(how, "table_type", [](Job& job) -> std::string& { return job.recipe.table_type; });
  bind_field(how, "predict_loss", [](Job& job) -> bool& { return job.predicts_loss; });
  bind_field(how, "recipe_output", [](Job& job) -> Path& { return job.recipe_output; });
  const auto set_rules = [](LanguageQuantizeArguments& h, const Rules& rules) {
    for (const auto& [pattern, type] : rules) {
      h.job.recipe.rules.push_back({pattern, type, "rules"});
    }
  };
  const auto set_budget = [](LanguageQuantizeArguments& h, std::optional<std::uint64_t> size,
                             std::optional<double> bits_per_weight,
                             std::optional<double> max_loss) {
    h.job.size = size;
    h.job.bits_per_weight = bits_per_weight;
    h.job.max_loss = max_loss;
  };
  how.def_rw("recipe", &LanguageQuantizeArguments::recipe, nb::arg().none())
      .def_rw("recipe_text", &LanguageQuantizeArguments::recipe_text)
      .def("set_rules", set_rules, nb::arg("rules"))
      .def("set_budget", set_budget, nb::arg("size").none(), nb::arg("bits_per_weight").none(),
           nb::arg("max_loss").none());
}

void bind_fit(LanguageHowClass& how) {
  bind_field(how, "samples", [](Job& job) -> std::size_t& { return job.samples.fit; });
  bind_field(how, "held_out", [](Job& job) -> std::size_t& { return job.samples.held_out; });
  bind_field(how, "sample_tokens", [](Job& job) -> std::size_t& { return job.samples.tokens; });
  bind_field(how, "candidates", [](Job& job) -> int& { return job.groups.candidates; });
  bind_field(how, "sweeps", [](Job& job) -> int& { return job.groups.sweeps; });
  bind_field(how, "damping", [](Job& job) -> double& { return job.damping.channel; });
  bind_field(how, "rotation", [](Job& job) -> bool& { return job.rotates; });
  bind_field(how, "seed", [](Job& job) -> std::uint64_t& { return job.seed; });
}

}  // namespace

void bind_language_quantize(nb::module_& module) {
  LanguageHowClass how(module, "LanguageQuantizeArguments");
  how.def(nb::init<>());
  bind_types(how);
  bind_fit(how);
  bind_field(how, "tokenizer", [](Job& job) -> Path& { return job.tokenizer; });
  bind_field(how, "synthetic", [](Job& job) -> bool& { return job.is_synthetic; });
  bind_field(how, "state", [](Job& job) -> Path& { return job.state; });
  bind_field(how, "decoded", [](Job& job) -> bool& { return job.is_decoded; });
  bind_field(how, "threads", [](Job& job) -> int& { return job.threads; });
  how.def_rw("progress", &LanguageQuantizeArguments::progress, nb::arg().none());
  module.def("convert_language", convert_language, nb::arg("model"), nb::arg("output"),
             nb::arg("lora"));
  module.def("language_sensitivity", language_sensitivity_texts, nb::arg("model"), nb::arg("texts"),
             nb::arg("choices"), nb::arg("how"));
  module.def("quantize_language", quantize_language, nb::arg("model"), nb::arg("texts"),
             nb::arg("output"), nb::arg("how"));
}

}  // namespace halftone::python
