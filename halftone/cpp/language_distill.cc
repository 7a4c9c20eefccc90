// SPDX-License-Identifier: Apache-2.0
#include "halftone/language_distill.hpp"

#include <string>
#include <utility>

#include "halftone/api/language_distillation.h"
#include "halftone/base/thread_settings.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
LanguageDistillReport distill_language_model(const std::filesystem::path& teacher,
                                             const std::filesystem::path& student,
                                             std::span<const std::filesystem::path> texts,
                                             const std::filesystem::path& output,
                                             const LanguageDistillOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        LanguageDistillJob job{options};
        job.teacher = teacher;
        job.student = student;
        job.texts.assign(texts.begin(), texts.end());
        job.output = output;
        // The run ends after its step, with its state.
        std::string stopped_at;
        if (options.progress) {
          job.sink = [&](double fraction, std::string_view activity) {
            const bool goes_on = raised.run([&] { return options.progress(fraction, activity); });
            if (!goes_on && stopped_at.empty()) stopped_at = activity;
          };
        }
        job.stop_requested = [&] { return !stopped_at.empty(); };
        TuneReport found = halftone::distill_language_model(job);
        if (found.is_interrupted) fail_interrupted(stopped_at);
        return LanguageDistillReport(std::move(found));
      },
      {&raised});
}

}  // namespace halftone::v0
