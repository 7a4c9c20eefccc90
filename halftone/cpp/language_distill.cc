// SPDX-License-Identifier: Apache-2.0
#include "halftone/language_distill.hpp"

#include <string>
#include <utility>

#include "halftone/api/language_distillation.h"
#include "halftone/base/thread_settings.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

LanguageDistillJob job_of(const LanguageDistillOptions& options) {
  LanguageDistillJob job;
  job.second_text = options.second_text;
  job.sample_tokens = options.sample_tokens;
  job.held_out = options.held_out;
  job.state = options.state;
  job.options.steps = options.steps;
  job.options.batch = options.batch;
  job.options.rate = options.rate;
  job.options.basis_rate = options.basis_rate;
  job.options.minutes = options.minutes;
  job.options.seed = options.seed;
  return job;
}

}  // namespace

LanguageDistillReport distill_language_model(const std::filesystem::path& teacher,
                                             const std::filesystem::path& student,
                                             std::span<const std::filesystem::path> texts,
                                             const std::filesystem::path& output,
                                             const LanguageDistillOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        LanguageDistillJob job = job_of(options);
        job.teacher = teacher;
        job.student = student;
        job.texts.assign(texts.begin(), texts.end());
        job.output = output;
        // The run ends after its step, with its state.
        std::string stopped_at;
        if (options.progress) {
          job.options.progress = [&](double fraction, std::string_view activity) {
            const bool goes_on = raised.run([&] { return options.progress(fraction, activity); });
            if (!goes_on && stopped_at.empty()) stopped_at = activity;
          };
        }
        job.options.stop_requested = [&] { return !stopped_at.empty(); };
        TuneReport found = halftone::distill_language_model(job);
        if (found.is_interrupted) fail_interrupted(stopped_at);
        return LanguageDistillReport(std::move(found));
      },
      {&raised});
}

}  // namespace halftone::v0
