// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/text_evaluation.h"

#include <optional>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"

namespace halftone {
namespace {

std::string text_in(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Name and size of a file, or of all files of a folder.
std::string identity_of(const std::filesystem::path& path) {
  if (path.empty()) return "none ";
  std::uintmax_t bytes = 0;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
  } else {
    bytes = std::filesystem::file_size(path);
  }
  return std::filesystem::absolute(path).lexically_normal().filename().string() + " " +
         std::to_string(bytes) + " ";
}

}  // namespace

lm::TextEvaluation evaluate_text(LanguageModel& model, LanguageModel* reference,
                                 std::string_view text, const TextEvaluationOptions& options) {
  const std::vector<lm::TokenId> tokens = model.tokenizer().encode(text);
  if (reference != nullptr && reference->tokenizer().encode(text) != tokens) {
    fail(ErrorKind::kUsage,
         reference->name() + ": expected the tokens that " + model.name() +
             " has for the text, found others: a reference has the same tokenizer",
         Hint::kReference);
  }
  return lm::evaluate_text({.model = model.model(),
                            .reference = reference != nullptr ? &reference->model() : nullptr,
                            .tokens = tokens,
                            .begin = model.tokenizer().begin(),
                            .windows = options.windows,
                            .state = options.state,
                            .identity = options.identity,
                            .progress = options.progress});
}

lm::TextEvaluation evaluate_text_file(const TextEvaluationJob& job) {
  const std::string text = text_in(job.text);
  LanguageModelOptions open = job.open;
  open.context = job.windows.context;
  LanguageModel model = LanguageModel::open(job.model, open);
  std::optional<LanguageModel> reference;
  if (!job.reference.empty()) {
    open.execution.int8_activations = false;
    open.cache = ir::CacheNumbers::kFloat32;
    reference.emplace(LanguageModel::open(job.reference, open));
  }
  return evaluate_text(
      model, reference ? &*reference : nullptr, text,
      {job.windows, job.state,
       identity_of(job.model) + identity_of(job.reference) + identity_of(job.text), job.progress});
}

}  // namespace halftone
