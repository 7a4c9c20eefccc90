// SPDX-License-Identifier: Apache-2.0
// Language models of the C API: quantization and conversion.
#include <string>
#include <utility>

#include "halftone/api/language_conversion.h"
#include "halftone/api/language_quantization.h"
#include "halftone/api/type_recipe.h"
#include "halftone/language.h"
#include "halftone/library/c_context.h"
#include "halftone/library/c_language_job.h"
#include "halftone/library/c_status.h"

struct halftone_language_report {
  halftone::LanguageQuantizeReport report;
};

namespace halftone::library {
namespace {

v0::TypeRecipe types_of(const halftone_language_quantize_options& options) {
  v0::TypeRecipe given{optional_text(options.type), optional_text(options.table_type), {}};
  if (options.num_rules != 0) required(options.rules, "options.rules");
  for (std::size_t i = 0; i < options.num_rules; ++i) {
    given.rules.push_back({&required(options.rules[i].pattern, "options.rules.pattern"),
                           &required(options.rules[i].type, "options.rules.type"),
                           "options.rules"});
  }
  if (options.recipe == nullptr) return given;
  return with_types(load_type_recipe(options.recipe), given);
}

LanguageQuantizeJob job_of(const halftone_language_quantize_options& options) {
  LanguageQuantizeJob job;
  set_samples(options, "the quantization", job);
  job.types = types_of(options);
  if (options.size_bytes != 0) job.size_bytes = options.size_bytes;
  if (options.bits_per_weight != 0) job.bits_per_weight = options.bits_per_weight;
  if (options.max_loss != 0) job.max_loss = options.max_loss;
  if (options.candidates != 0) job.candidates = options.candidates;
  if (options.sweeps != 0) job.sweeps = options.sweeps < 0 ? 0 : options.sweeps;
  job.decoded = options.decoded != 0;
  job.predict_loss = options.predict_loss != 0;
  job.recipe_output = optional_text(options.recipe_output);
  return job;
}

}  // namespace
}  // namespace halftone::library

using namespace halftone;           // NOLINT(google-build-using-namespace): functions of C
using namespace halftone::library;  // NOLINT(google-build-using-namespace)

halftone_status halftone_language_quantize(const halftone_context* context, const char* model,
                                           const char* output,
                                           const halftone_language_quantize_options* options,
                                           halftone_language_report** report) noexcept {
  return guarded([&] {
    const UseThreadSettings use(required(context, "context").state->settings);
    LanguageQuantizeJob job = job_of(known(options, "options"));
    job.input = &required(model, "model");
    job.output = &required(output, "output");
    halftone_language_report found{quantize_language_model(job)};
    if (report != nullptr) *report = give(std::move(found));
  });
}

halftone_status halftone_language_convert(const halftone_context* context, const char* model,
                                          const char* output, const char* lora,
                                          halftone_language_report** report) noexcept {
  return guarded([&] {
    const UseThreadSettings use(required(context, "context").state->settings);
    const LanguageConvertReport found = convert_language_model(
        {&required(model, "model"), &required(output, "output"), optional_text(lora)});
    if (report == nullptr) return;
    halftone_language_report sizes;
    sizes.report.input_bytes = found.input_bytes;
    sizes.report.output_bytes = found.output_bytes;
    sizes.report.warnings = found.warnings;
    *report = give(std::move(sizes));
  });
}

void halftone_language_report_destroy(halftone_language_report* report) noexcept {
  take_back(report);
}

halftone_status halftone_language_report_summary(const halftone_language_report* report,
                                                 halftone_language_summary* summary) noexcept {
  return guarded([&] {
    const LanguageQuantizeReport& found = required(report, "report").report;
    halftone_language_summary& callers = required(summary, "summary");
    check_version<halftone_language_summary>(callers.struct_bytes, "summary");
    give_result(halftone_language_summary{0, found.input_bytes, found.output_bytes, found.seconds,
                                          found.bits, found.predicted_loss.value_or(-1),
                                          found.fit_tokens, found.held_out_tokens, found.fit_loss,
                                          found.held_out_loss.value_or(-1), found.matrices.size(),
                                          found.warnings.size()},
                callers);
  });
}

halftone_status halftone_language_report_matrix(const halftone_language_report* report,
                                                size_t index,
                                                halftone_quantized_matrix* matrix) noexcept {
  return guarded([&] {
    const auto& matrices = required(report, "report").report.matrices;
    halftone_quantized_matrix& callers = required(matrix, "matrix");
    check_version<halftone_quantized_matrix>(callers.struct_bytes, "matrix");
    if (index >= matrices.size()) {
      fail(ErrorKind::kUsage, "matrix: expected an index below " + std::to_string(matrices.size()) +
                                  ", found " + std::to_string(index));
    }
    const QuantizedMatrix& found = matrices[index];
    give_result(halftone_quantized_matrix{0, found.name.c_str(), found.type.c_str(), found.bits,
                                          found.bytes, found.error},
                callers);
  });
}

const char* halftone_language_report_warning(const halftone_language_report* report,
                                             size_t index) noexcept {
  if (report == nullptr || index >= report->report.warnings.size()) return nullptr;
  return report->report.warnings[index].c_str();
}
