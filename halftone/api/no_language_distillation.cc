// SPDX-License-Identifier: Apache-2.0
// In place of tuning of language models where a build has no libraries for their text.
#include "halftone/api/language_distillation.h"
#include "halftone/api/language_model.h"
#include "halftone/base/error.h"

namespace halftone {

TuneReport distill_language_model(const LanguageDistillJob& job) {
  (void)TextModel::open(job.teacher);  // says what is missing
  fail(ErrorKind::kInternal, "a build without language models opened one");
}

}  // namespace halftone
