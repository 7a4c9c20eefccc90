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
#include "halftone/api/option_fields.h"
#include "halftone/api/type_recipe.h"
#include "halftone/base/thread_settings.h"
#include "halftone/report/language.h"
#include "halftone/report/sensitivity.h"
#include "python/src/bind.h"
#include "python/src/fields.h"
#include "python/src/progress.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// Patterns and types.
using Rules = std::vector<std::pair<std::string, std::string>>;

/// The job, and what it is made of in Python.
template <typename Job>
struct LanguageArguments {
  Job job{};
  int threads = 0;
  nb::object progress = nb::none();
};
struct LanguageQuantizeArguments : LanguageArguments<LanguageQuantizeJob> {
  std::optional<std::filesystem::path> recipe{};
  std::string recipe_text{};  ///< in place of a file
};
struct LanguageSensitivityArguments : LanguageArguments<LanguageSensitivityJob> {};

v0::TypeRecipe types_of(const LanguageQuantizeArguments& how) {
  if (how.recipe) return with_types(load_type_recipe(*how.recipe), how.job.types);
  return with_types(parse_type_recipe(how.recipe_text, "recipe"), how.job.types);
}

Texts quantize_language(const std::filesystem::path& model,
                        const std::vector<std::filesystem::path>& texts,
                        const std::filesystem::path& output, const LanguageQuantizeArguments& how) {
  Reporter reporter(how.progress);
  LanguageQuantizeJob job = how.job;
  job.input = model;
  job.texts = texts;
  job.output = output;
  job.sink = reporter.sink();
  return reporter.run([&] {
    ThreadSettings settings = thread_settings();
    settings.threads = how.threads;
    const UseThreadSettings use(settings);
    job.types = types_of(how);
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

Texts language_sensitivity_texts(const std::filesystem::path& model,
                                 const std::vector<std::filesystem::path>& texts,
                                 const LanguageSensitivityArguments& how) {
  Reporter reporter(how.progress);
  LanguageSensitivityJob job = how.job;
  job.input = model;
  job.texts = texts;
  job.sink = reporter.sink();
  return reporter.run([&] {
    ThreadSettings settings = thread_settings();
    settings.threads = how.threads;
    const UseThreadSettings use(settings);
    const v0::Sensitivity found = language_sensitivity(job);
    return Texts(report::to_text(found), report::to_json(found));
  });
}

template <typename Arguments>
void bind_shared(nb::class_<Arguments>& how) {
  how.def(nb::init<>())
      .def_rw("threads", &Arguments::threads)
      .def_rw("progress", &Arguments::progress, nb::arg().none());
}

void bind_quantize(nb::module_& module) {
  using Arguments = LanguageQuantizeArguments;
  nb::class_<Arguments> how(module, "LanguageQuantizeArguments");
  bind_shared(how);
  bind_fields(how, [](Arguments& a) {
    return fields_of(static_cast<v0::LanguageQuantizeOptions&>(a.job));
  });
  const auto set_rules = [](Arguments& a, const Rules& rules) {
    for (const auto& [pattern, type] : rules) a.job.types.rules.push_back({pattern, type, "rules"});
  };
  how.def_rw("recipe", &Arguments::recipe, nb::arg().none())
      .def_rw("recipe_text", &Arguments::recipe_text)
      .def("set_rules", set_rules, nb::arg("rules"));
}

void bind_measuring(nb::module_& module) {
  using Arguments = LanguageSensitivityArguments;
  nb::class_<Arguments> how(module, "LanguageSensitivityArguments");
  bind_shared(how);
  bind_fields(how,
              [](Arguments& a) { return fields_of(static_cast<v0::LanguageFitOptions&>(a.job)); });
}

}  // namespace

void bind_language_quantize(nb::module_& module) {
  bind_quantize(module);
  bind_measuring(module);
  module.def("convert_language", convert_language, nb::arg("model"), nb::arg("output"),
             nb::arg("lora"));
  module.def("language_sensitivity", language_sensitivity_texts, nb::arg("model"), nb::arg("texts"),
             nb::arg("how"));
  module.def("quantize_language", quantize_language, nb::arg("model"), nb::arg("texts"),
             nb::arg("output"), nb::arg("how"));
}

}  // namespace halftone::python
