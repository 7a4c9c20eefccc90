// SPDX-License-Identifier: Apache-2.0
// What jobs on language models have in common in the C API.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "halftone/api/language_sensitivity.h"
#include "halftone/base/error.h"
#include "halftone/base/progress.h"
#include "halftone/language.h"
#include "halftone/library/c_status.h"

struct halftone_language_losses {
  halftone::v0::Sensitivity found;  // each matrix is a unit
};

namespace halftone::library {

/// How the caller follows and ends the work; empty without options.progress.
/// @param work  for the message of kInterrupted: "the quantization"
template <typename Options>
ProgressSink progress_of(const Options& options, const char* work) {
  if (options.progress == nullptr) return {};
  return [call = options.progress, user = options.user, work](double fraction,
                                                              std::string_view /*activity*/) {
    if (call(user, fraction) == 0) return;
    fail(ErrorKind::kInterrupted, std::string(work) + " was stopped");
  };
}

/// Sets the texts, the samples of them, and how the caller follows and ends the work.
/// @param options  halftone_language_quantize_options or halftone_language_sensitivity_options
/// @param work     as for progress_of()
/// @throws Error kUsage as texts_of()
template <typename Options, typename Job>
void set_samples(const Options& options, const char* work, Job& job) {
  job.texts = texts_of<std::filesystem::path>(options.texts, options.num_texts, "options.texts");
  job.tokenizer = optional_text(options.tokenizer);
  if (options.samples != 0) job.samples = options.samples;
  if (options.held_out != 0) {
    job.held_out = options.held_out < 0 ? 0 : static_cast<std::size_t>(options.held_out);
  }
  if (options.sample_tokens != 0) job.sample_tokens = options.sample_tokens;
  if (options.damping != 0) job.damping = options.damping < 0 ? 0 : options.damping;
  job.rotates = options.no_rotation == 0;
  job.seed = options.seed;
  job.synthetic = options.synthetic != 0;
  job.state = optional_text(options.state);
  job.sink = progress_of(options, work);
}

}  // namespace halftone::library
