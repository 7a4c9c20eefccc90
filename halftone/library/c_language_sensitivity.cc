// SPDX-License-Identifier: Apache-2.0
// Language models of the C API: what matrices lose.
#include <filesystem>
#include <string>
#include <utility>

#include "halftone/language.h"
#include "halftone/library/c_context.h"
#include "halftone/library/c_language_job.h"
#include "halftone/library/c_status.h"

namespace halftone::library {
namespace {

LanguageSensitivityJob job_of(const halftone_language_sensitivity_options& options) {
  LanguageSensitivityJob job;
  set_samples(options, "the measurement", job);
  job.choices = texts_of<std::string>(options.choices, options.num_choices, "options.choices");
  return job;
}

/// @throws Error kUsage "NAME: expected an index below ..."
template <typename List>
const auto& at(const List& list, std::size_t index, const char* name) {
  if (index < list.size()) return list[index];
  fail(ErrorKind::kUsage, std::string(name) + ": expected an index below " +
                              std::to_string(list.size()) + ", found " + std::to_string(index));
}

}  // namespace
}  // namespace halftone::library

using namespace halftone;           // NOLINT(google-build-using-namespace): functions of C
using namespace halftone::library;  // NOLINT(google-build-using-namespace)

halftone_status halftone_language_sensitivity(const halftone_context* context, const char* model,
                                              const halftone_language_sensitivity_options* options,
                                              halftone_language_losses** losses) noexcept {
  return guarded([&] {
    const UseThreadSettings use(required(context, "context").state->settings);
    LanguageSensitivityJob job = job_of(known(options, "options"));
    job.input = &required(model, "model");
    required(losses, "losses");
    *losses = give(halftone_language_losses{language_sensitivity(job)});
  });
}

void halftone_language_losses_destroy(halftone_language_losses* losses) noexcept {
  take_back(losses);
}

halftone_status halftone_language_losses_summary(const halftone_language_losses* losses,
                                                 halftone_losses_summary* summary) noexcept {
  return guarded([&] {
    const v0::Sensitivity& found = required(losses, "losses").found;
    halftone_losses_summary& callers = required(summary, "summary");
    check_version<halftone_losses_summary>(callers.struct_bytes, "summary");
    give_result(
        halftone_losses_summary{0, found.layers.size(), found.choices.size(), found.warnings.size(),
                                found.samples, found.tokens.value_or(0),
                                found.on_fit_samples ? 1 : 0, found.model_loss.value_or(0)},
        callers);
  });
}

halftone_status halftone_language_losses_matrix(const halftone_language_losses* losses,
                                                size_t index,
                                                halftone_sensitive_matrix* matrix) noexcept {
  return guarded([&] {
    const v0::Sensitivity& found = required(losses, "losses").found;
    halftone_sensitive_matrix& callers = required(matrix, "matrix");
    check_version<halftone_sensitive_matrix>(callers.struct_bytes, "matrix");
    const v0::SensitiveLayer& each = at(found.layers, index, "matrix");
    give_result(halftone_sensitive_matrix{0, each.name.c_str(), each.type.c_str(), each.rows,
                                          each.cols, each.bytes},
                callers);
  });
}

const char* halftone_language_losses_type(const halftone_language_losses* losses,
                                          size_t index) noexcept {
  if (losses == nullptr || index >= losses->found.choices.size()) return nullptr;
  return losses->found.choices[index].name.c_str();
}

halftone_status halftone_language_losses_loss(const halftone_language_losses* losses, size_t matrix,
                                              size_t type, halftone_matrix_loss* loss) noexcept {
  return guarded([&] {
    const v0::Sensitivity& found = required(losses, "losses").found;
    halftone_matrix_loss& callers = required(loss, "loss");
    check_version<halftone_matrix_loss>(callers.struct_bytes, "loss");
    const v0::ChoiceSensitivity& choice = at(found.choices, type, "type");
    const v0::UnitSensitivity& unit = at(choice.units, matrix, "matrix");
    give_result(unit.is_possible ? halftone_matrix_loss{0, choice.layers[matrix].weight_bits,
                                                        unit.bytes, unit.loss}
                                 : halftone_matrix_loss{0, 0, 0, -1},
                callers);
  });
}

const char* halftone_language_losses_warning(const halftone_language_losses* losses,
                                             size_t index) noexcept {
  if (losses == nullptr || index >= losses->found.warnings.size()) return nullptr;
  return losses->found.warnings[index].c_str();
}
