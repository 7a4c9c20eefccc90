// SPDX-License-Identifier: Apache-2.0
// In place of the quantization of language models where a build has no libraries for their text.
#include "halftone/api/language_model.h"
#include "halftone/api/language_quantization.h"
#include "halftone/base/error.h"

namespace halftone {

LanguageQuantizeReport quantize_language_model(const LanguageQuantizeJob& job) {
  (void)LanguageModel::open(job.input);  // says what is missing
  fail(ErrorKind::kInternal, "a build without language models opened one");
}

}  // namespace halftone
