// SPDX-License-Identifier: Apache-2.0
// In place of jobs of language models where a build has no libraries for their text.
#include "halftone/api/language_conversion.h"
#include "halftone/api/language_model.h"
#include "halftone/api/language_quantization.h"
#include "halftone/api/language_sensitivity.h"
#include "halftone/base/error.h"

namespace halftone {

LanguageQuantizeReport quantize_language_model(const LanguageQuantizeJob& job) {
  (void)TextModel::open(job.input);  // says what is missing
  fail(ErrorKind::kInternal, "a build without language models opened one");
}

v0::Sensitivity language_sensitivity(const LanguageSensitivityJob& job) {
  (void)TextModel::open(job.input);  // says what is missing
  fail(ErrorKind::kInternal, "a build without language models opened one");
}

bool is_gguf_file(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

LanguageConvertReport convert_language_model(const LanguageConvertJob& job) {
  (void)TextModel::open(job.input);  // says what is missing
  fail(ErrorKind::kInternal, "a build without language models opened one");
}

}  // namespace halftone
