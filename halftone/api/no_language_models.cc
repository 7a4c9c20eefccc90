// SPDX-License-Identifier: Apache-2.0
// In place of language models where a build has no libraries for their text.
#include "halftone/api/batch_generation.h"
#include "halftone/api/language_model.h"
#include "halftone/api/language_report.h"
#include "halftone/api/language_speed.h"
#include "halftone/api/text_embedding.h"
#include "halftone/api/text_evaluation.h"
#include "halftone/api/text_generation.h"
#include "halftone/base/error.h"

namespace halftone {
namespace {

[[noreturn]] void fail_without_text() {
  fail(
      ErrorKind::kUnsupported,
      "language models: this build has none: install libpcre2-dev, libutf8proc-dev and pkg-config, "
      "and build it again");
}

}  // namespace

TextModel TextModel::open(const std::filesystem::path& /*path*/, const OpenOptions& /*options*/) {
  fail_without_text();
}

void follow_model(const std::filesystem::path& /*path*/, const OpenOptions& /*options*/) {
  fail_without_text();
}

std::vector<lm::TokenId> TextModel::tokenize(std::string_view /*text*/,
                                             const lm::EncodeOptions& /*options*/) const {
  fail_without_text();
}

std::string TextModel::detokenize(std::span<const lm::TokenId> /*tokens*/) const {
  fail_without_text();
}

std::string TextModel::token_text(lm::TokenId /*token*/) const { fail_without_text(); }

lm::TokenId TextModel::begin_token() const { fail_without_text(); }

lm::ChatTemplate TextModel::chat_template(std::string_view /*choice*/) const {
  fail_without_text();
}

TextEmbedder& TextModel::embedder() const { fail_without_text(); }

std::vector<std::vector<float>> embed(const TextModel& /*model*/,
                                      std::span<const std::string> /*texts*/,
                                      std::size_t /*dimensions*/) {
  fail_without_text();
}

std::vector<std::vector<float>> embed_tokens(const TextModel& /*model*/,
                                             std::span<const std::vector<lm::TokenId>> /*texts*/,
                                             std::size_t /*dimensions*/) {
  fail_without_text();
}

lm::Generation generate_text(TextModel& /*model*/, std::string_view /*prompt*/,
                             const v0::GenerateOptions& /*options*/,
                             const v0::OnToken& /*on_token*/) {
  fail_without_text();
}

lm::Generation generate_from_tokens(TextModel& /*model*/,
                                    // NOLINTNEXTLINE(performance-unnecessary-value-param)
                                    std::optional<std::vector<lm::TokenId>> /*prompt*/,
                                    const v0::GenerateOptions& /*options*/,
                                    const v0::OnToken& /*on_token*/) {
  fail_without_text();
}

lm::ChatRequest chat_request_of(std::span<const lm::Message> /*conversation*/) {
  fail_without_text();
}

lm::ChatRequest chat_request_of_json(std::string_view /*json*/) { fail_without_text(); }

lm::Generation answer(TextModel& /*model*/, const lm::ChatRequest& /*request*/,
                      const v0::AnswerOptions& /*options*/, const v0::OnToken& /*on_token*/) {
  fail_without_text();
}

std::string chat_prompt(const TextModel& /*model*/, const lm::ChatRequest& /*request*/,
                        std::string_view /*template_name*/) {
  fail_without_text();
}

void generate_batch(TextModel& /*model*/, std::span<const std::string> /*lines*/,
                    const BatchOptions& /*options*/,
                    const std::function<void(const BatchAnswer&)>& /*on_answer*/) {
  fail_without_text();
}

std::size_t resume_answers(const std::filesystem::path& /*file*/) { fail_without_text(); }

Conversation::Conversation(TextModel& model, const ChatOptions& /*options*/) : model_(model) {
  fail_without_text();
}

lm::Generation Conversation::answer(std::string_view /*message*/) {
  (void)model_;
  fail_without_text();
}

lm::Generation Conversation::answer() { fail_without_text(); }

LanguageReport report_language_model(const TextEvaluationJob& /*job*/, bool /*measures_times*/) {
  fail_without_text();
}

lm::TextEvaluation evaluate_text(TextModel& /*model*/, TextModel* /*reference*/,
                                 std::string_view /*text*/,
                                 const TextEvaluationSettings& /*options*/) {
  fail_without_text();
}

std::vector<TextFileEvaluation> evaluate_text_files(const TextEvaluationJob& /*job*/) {
  fail_without_text();
}

std::size_t context_for(const v0::LanguageSpeedOptions& /*options*/) { fail_without_text(); }

LanguageSpeed measure_language_speed(TextModel& /*model*/,
                                     const LanguageSpeedSettings& /*options*/) {
  fail_without_text();
}

}  // namespace halftone
