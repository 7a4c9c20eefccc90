// SPDX-License-Identifier: Apache-2.0
// The fields of all options, for the reference and the tests of the package.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "halftone/api/firmware.h"
#include "halftone/api/measure.h"
#include "halftone/api/option_fields.h"
#include "halftone/api/recipe.h"
#include "halftone/base/error.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/recipe_fields.h"
#include "halftone/lm/evaluate/text_evaluation.h"
#include "halftone/types/sensitivity.hpp"
#include "python/src/bind.h"
#include "python/src/fields.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

template <typename Options>
std::vector<FieldRow> rows_of() {
  Options options;
  return field_rows(fields_of(options));
}

std::vector<FieldRow> sensitivity_rows() {
  std::vector<std::string> choices;
  std::string loss;
  std::filesystem::path state;
  std::optional<std::uint64_t> memory;
  Fields fields = choice_fields(choices, loss);
  return field_rows(joined(std::move(fields), {state_field(state), memory_field(memory)}));
}

std::vector<FieldRow> budget_rows() {
  std::size_t tries = v0::kBudgetTries;
  FirmwareLimits firmware;
  return field_rows(
      joined({tries_field(tries)}, firmware_fields(firmware.core, firmware.instruction_pj)));
}

std::vector<FieldRow> evaluate_rows() {
  compress::EvaluateSettings options;
  return field_rows({batch_field(options.batch)});
}

std::vector<FieldRow> window_rows() {
  lm::WindowOptions w;
  return field_rows(window_fields(w.context, w.stride, w.limit, w.second_half));
}

std::vector<FieldRow> bench_rows() {
  TimingSettings options;
  return field_rows(timing_fields(options.batch, options.min_seconds));
}

std::vector<FieldRow> report_rows() {
  std::optional<std::size_t> samples_per_run;
  std::size_t worst = v0::kWorstSamples;
  bool time = false;
  bool live = false;
  return field_rows(page_fields(samples_per_run, worst, time, live));
}

std::vector<FieldRow> recipe_rows(bool is_fit) {
  v0::Recipe recipe;
  return field_rows(is_fit ? compress::fields_of(recipe.fit)
                           : compress::fields_of(recipe.defaults));
}

/// The fields of all options, by the name of the job.
constexpr std::pair<std::string_view, std::vector<FieldRow> (*)()> kRows[] = {
    {"open", rows_of<v0::LanguageModelOptions>},
    {"train", rows_of<v0::TrainOptions>},
    {"distill", rows_of<v0::TeachingOptions>},
    {"distill_language_model", rows_of<v0::LanguageDistillOptions>},
    {"quantize_language_model", rows_of<v0::LanguageQuantizeOptions>},
    {"language_sensitivity", rows_of<v0::LanguageFitOptions>},
    {"measure_speed", rows_of<v0::LanguageSpeedOptions>},
    {"generate", rows_of<v0::GenerateOptions>},
    {"data", rows_of<v0::DataOptions>},
    {"settings", rows_of<SettingNames>},
    {"sensitivity", sensitivity_rows},
    {"budget", budget_rows},
    {"evaluate", evaluate_rows},
    {"evaluate_text", window_rows},
    {"bench", bench_rows},
    {"report", report_rows},
    {"estimate", rows_of<v0::EstimateOptions>},
    {"language_estimate", rows_of<v0::LanguageEstimateOptions>},
    {"explore", rows_of<v0::ExploreSearch>},
    {"crossbar", rows_of<v0::CrossbarOptions>},
    {"recipe_layer", [] { return recipe_rows(false); }},
    {"recipe_fit", [] { return recipe_rows(true); }},
};

}  // namespace

void bind_field_rows(nb::module_& module) {
  module.def(
      "fields",
      [](const std::string& job) {
        for (const auto& [name, rows] : kRows) {
          if (name == job) return rows();
        }
        fail(ErrorKind::kUsage, "job: found '" + job + "'");
      },
      nb::arg("job"));
}

}  // namespace halftone::python
