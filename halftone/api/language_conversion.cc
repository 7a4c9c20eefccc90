// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_conversion.h"

#include <utility>

#include "halftone/api/network.h"
#include "halftone/api/writable.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/folder.h"
#include "halftone/base/paths.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/lm/chat/model_texts.h"
#include "halftone/lm/model/adapter.h"
#include "halftone/lm/model/new_gguf.h"
#include "halftone/lm/quantize/merge.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone {
namespace {

void check_job(const LanguageConvertJob& job) {
  FileUses uses;
  uses.read("model", job.input);
  uses.read("adapter", job.lora);
  uses.write("output", job.output);
  uses.check();
  if (!path_exists(job.input)) {
    fail(ErrorKind::kIo, job.input.string() + ": cannot open: No such file or directory");
  }
  const bool reads_folder = is_folder(job.input);
  if (!reads_folder && !is_gguf_file(job.input)) {
    fail(ErrorKind::kUsage,
         job.input.string() + ": expected a GGUF file or a folder of Hugging Face to convert");
  }
  if (is_gguf_file(job.output)) {
    if (!reads_folder && job.lora.empty()) {
      fail(ErrorKind::kUsage, job.input.string() +
                                  ": expected an adapter to merge, or a folder of Hugging Face, "
                                  "found a GGUF file alone");
    }
    return check_writable(job.output);
  }
  if (!reads_folder) {
    fail(ErrorKind::kUsage, job.output.string() + ": expected NAME.gguf");
  }
  if (job.lora.empty() || job.output.has_extension()) {
    fail(ErrorKind::kUsage, job.output.string() + ": expected NAME.gguf" +
                                (job.lora.empty() ? "" : " or a new folder"));
  }
  NewFolder::check(job.output);
}

}  // namespace

bool is_gguf_file(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

formats::GgufKeys gguf_keys_of_folder(const std::filesystem::path& folder,
                                      const lm::Description& description) {
  const std::filesystem::path full = full_path(folder / "");
  formats::GgufKeys keys = lm::new_gguf_keys(description, full.parent_path().filename().string());
  lm::set_gguf_text_keys(keys, folder, description.vocabulary);
  return keys;
}

LanguageConvertReport convert_language_model(const LanguageConvertJob& job) {
  check_job(job);
  const lm::ModelParts model = lm::open_model(job.input);
  const bool makes_gguf = is_gguf_file(job.output);
  const bool is_new_gguf = makes_gguf && is_folder(job.input);
  LanguageConvertReport report{.input_bytes = bytes_of_files(job.input)};
  lm::FittedMatrices merged;
  if (!job.lora.empty()) {
    const auto adapter = lm::Adapter::open(job.lora, model.description);
    report.changed = adapter.size();
    merged = with_context(job.lora.string(), [&] {
      return lm::merge(model, adapter, [&](const lm::WeightId& id) {
        return is_new_gguf ? lm::new_gguf_place(model.description, id).name
                           : model.weights.at(id).tensor;
      });
    });
  }
  const lm::Folding unfolded(model, {});
  const auto form = lm::FittedForm::kCodes;
  if (!makes_gguf) {
    lm::write_folder_model(job.output, job.input, unfolded, merged, form);
  } else if (is_new_gguf) {
    lm::write_gguf_model(job.output, gguf_keys_of_folder(job.input, model.description), unfolded,
                         merged, form);
    const std::string warning = lm::new_gguf_warning(model.description);
    if (!warning.empty()) report.warnings.push_back(warning);
  } else {
    lm::write_gguf_model(job.output, formats::GgufFile::open(job.input), unfolded, merged, form);
  }
  report.output_bytes = bytes_of_files(job.output);
  return report;
}

}  // namespace halftone
