// SPDX-License-Identifier: Apache-2.0
// Language models of the C API: the page about one.
#include <string>
#include <utility>

#include "halftone/api/language_report.h"
#include "halftone/language_page.h"
#include "halftone/library/c_context.h"
#include "halftone/library/c_language_job.h"
#include "halftone/library/c_status.h"
#include "halftone/report/language.h"
#include "halftone/report/page/language_page.h"
#include "halftone/report/sensitivity.h"

struct halftone_language_page {
  std::string html;
  std::string json;
};

namespace halftone::library {
namespace {

TextEvaluationJob job_of(const char* model, const halftone_language_page_options& options) {
  TextEvaluationJob job{.model = model, .reference = optional_text(options.reference)};
  job.texts = texts_of<std::filesystem::path>(options.texts, options.num_texts, "options.texts");
  job.open.tokenizer = optional_text(options.tokenizer);
  if (options.window != 0) job.windows.context = options.window;
  job.windows.limit = options.max_windows;
  job.progress = progress_of(options, "the report");
  return job;
}

}  // namespace
}  // namespace halftone::library

using namespace halftone;           // NOLINT(google-build-using-namespace): functions of C
using namespace halftone::library;  // NOLINT(google-build-using-namespace)

halftone_status halftone_language_page_create(const halftone_context* context, const char* model,
                                              const halftone_language_page_options* options,
                                              halftone_language_page** page) noexcept {
  return guarded([&] {
    const UseThreadSettings use(required(context, "context").state->settings);
    const halftone_language_page_options given = known(options, "options");
    const TextEvaluationJob job = job_of(&required(model, "model"), given);
    required(page, "page");
    report::page::LanguageContent content;
    if (given.losses != nullptr) {
      content.sensitivities.push_back(
          report::page::sensitivity_of({"losses", report::to_json(given.losses->found)}));
    }
    content.report = report_language_model(job, given.times != 0);
    *page = give(halftone_language_page{to_html(content), to_json(content)});
  });
}

void halftone_language_page_destroy(halftone_language_page* page) noexcept { take_back(page); }

const char* halftone_language_page_html(const halftone_language_page* page) noexcept {
  return page == nullptr ? nullptr : page->html.c_str();
}

const char* halftone_language_page_json(const halftone_language_page* page) noexcept {
  return page == nullptr ? nullptr : page->json.c_str();
}
