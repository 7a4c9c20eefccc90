// SPDX-License-Identifier: Apache-2.0
// Language models of the C API: models, tokens and sequences.
#include "halftone/library/c_language.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "halftone/language_vectors.h"

namespace halftone::library {
namespace {

OpenOptions open_options(const halftone_language_options& options) {
  constexpr std::array kCaches = {"float16", "float32", "int8", "int4", "int6"};
  if (options.cache < 0 || static_cast<std::size_t>(options.cache) >= kCaches.size()) {
    fail(ErrorKind::kUsage, "options.cache: expected a halftone_cache, 0 to " +
                                std::to_string(kCaches.size() - 1) + ", found " +
                                std::to_string(options.cache));
  }
  OpenOptions open;
  if (options.tokenizer != nullptr) open.tokenizer = options.tokenizer;
  if (options.context != 0) open.context = options.context;
  open.sequences = options.sequences == 0 ? 1 : options.sequences;
  open.cache = kCaches[static_cast<std::size_t>(options.cache)];
  open.float_activations = options.float_activations != 0;
  if (options.lora != nullptr) open.lora = options.lora;
  if (options.draft != nullptr) open.draft = options.draft;
  if (options.bits != 0) open.bits = options.bits;
  if (options.device != nullptr) open.device = options.device;
  return open;
}

std::unique_ptr<Language> open_language(const halftone_context* context, const char* path,
                                        const OpenOptions& options) {
  std::shared_ptr<const Context> state = required(context, "context").state;
  const UseThreadSettings use(state->settings);
  TextModel model = TextModel::open(&required(path, "path"), options);
  return std::make_unique<Language>(std::move(state), std::move(model));
}

void give_tokens(std::span<const lm::TokenId> found, halftone_tokens& tokens) {
  if (found.size() <= tokens.capacity && !found.empty()) {
    std::ranges::copy(found, &required(tokens.data, "tokens.data"));
  }
  tokens.count = found.size();
}

std::span<const lm::TokenId> tokens_of(const int32_t* tokens, size_t num_tokens) {
  if (num_tokens != 0) required(tokens, "tokens");
  return {tokens, num_tokens};
}

void check_sequence(const Language& language, std::size_t sequence) {
  const std::size_t count = language.model.model().sequences();
  if (sequence < count) return;
  fail(ErrorKind::kUsage, "sequence: expected 0 to " + std::to_string(count - 1) + ", found " +
                              std::to_string(sequence));
}

/// Whether a caller wants the logits behind each of several tokens.
/// @throws Error kShape if the memory is neither for one row nor for all
bool wants_all(const halftone_output& logits, std::size_t num_tokens, std::size_t vocabulary) {
  required(static_cast<char*>(logits.data), "logits.data");
  const std::size_t row = vocabulary * sizeof(float);
  if (logits.bytes == row) return false;
  if (logits.bytes == num_tokens * row) return true;
  fail(ErrorKind::kShape, "logits: expected " + std::to_string(row) + " bytes, or " +
                              std::to_string(num_tokens * row) + " for all tokens, found " +
                              std::to_string(logits.bytes));
}

void append(Language& language, std::size_t sequence, std::span<const lm::TokenId> tokens,
            const halftone_output* logits) {
  lm::TokenModel& model = language.model.model();
  const bool all = logits != nullptr && wants_all(*logits, tokens.size(), model.vocabulary());
  const std::vector<float> found = model.append(sequence, tokens, all);
  if (logits != nullptr) std::memcpy(logits->data, found.data(), logits->bytes);
}

void append_each(Language& language, std::span<const halftone_sequence_tokens> parts,
                 const halftone_output* logits) {
  lm::TokenModel& model = language.model.model();
  std::vector<lm::SequencePart> all;
  for (const halftone_sequence_tokens& part : parts) {
    all.push_back({part.sequence, tokens_of(part.tokens, part.num_tokens),
                   logits == nullptr ? lm::WantedLogits::kNone : lm::WantedLogits::kLast});
  }
  const std::size_t bytes = parts.size() * model.vocabulary() * sizeof(float);
  if (logits != nullptr && logits->bytes != bytes) {
    fail(ErrorKind::kShape, "logits: expected " + std::to_string(bytes) + " bytes, found " +
                                std::to_string(logits->bytes));
  }
  if (logits != nullptr && bytes != 0) required(static_cast<char*>(logits->data), "logits.data");
  const std::vector<float> found = model.append_each(all);
  if (!found.empty()) std::memcpy(logits->data, found.data(), bytes);
}

void embed(Language& language, std::span<const char* const> texts, const halftone_output& vectors) {
  std::vector<std::string> all;
  for (const char* text : texts) all.emplace_back(&required(text, "texts"));
  if (all.empty()) return;
  const std::size_t row = all.size() * sizeof(float);
  const std::size_t width = language.model.embedder().width();
  const std::size_t dimensions = vectors.bytes / row;
  if (vectors.bytes % row != 0 || dimensions == 0 || dimensions > width) {
    fail(ErrorKind::kShape, "vectors: expected " + std::to_string(row) + " bytes times 1 to " +
                                std::to_string(width) + ", found " + std::to_string(vectors.bytes));
  }
  char* place = &required(static_cast<char*>(vectors.data), "vectors.data");
  for (const std::vector<float>& each : halftone::embed(language.model, all, dimensions)) {
    std::memcpy(place, each.data(), each.size() * sizeof(float));
    place += each.size() * sizeof(float);
  }
}

}  // namespace

void give_text(std::string_view found, halftone_text* text) {
  halftone_text& result = required(text, "text");
  if (found.size() < result.capacity) {
    char* data = &required(result.data, "text.data");
    *std::ranges::copy(found, data).out = '\0';
  }
  result.bytes = found.size();
}

}  // namespace halftone::library

using namespace halftone;           // NOLINT(google-build-using-namespace): functions of C
using namespace halftone::library;  // NOLINT(google-build-using-namespace)

halftone_status halftone_language_model_load(const halftone_context* context, const char* path,
                                             const halftone_language_options* options,
                                             halftone_language_model** model) noexcept {
  return guarded([&] {
    halftone_language_model*& result = required(model, "model");
    const OpenOptions open = open_options(known(options, "options"));
    result = give(halftone_language_model{open_language(context, path, open)});
  });
}

void halftone_language_model_destroy(halftone_language_model* model) noexcept { take_back(model); }

const char* halftone_language_model_device(const halftone_language_model* model) noexcept {
  return model == nullptr ? "" : model->state->model.device().c_str();
}

size_t halftone_language_model_vocabulary(const halftone_language_model* model) noexcept {
  return model == nullptr ? 0 : model->state->model.model().vocabulary();
}

size_t halftone_language_model_context(const halftone_language_model* model) noexcept {
  return model == nullptr ? 0 : model->state->model.model().context();
}

size_t halftone_language_model_sequences(const halftone_language_model* model) noexcept {
  return model == nullptr ? 0 : model->state->model.model().sequences();
}

int32_t halftone_language_model_begin_token(const halftone_language_model* model) noexcept {
  return model == nullptr ? HALFTONE_NO_TOKEN : model->state->model.begin_token();
}

int halftone_language_model_is_end_token(const halftone_language_model* model,
                                         int32_t token) noexcept {
  return model != nullptr && model->state->model.is_end_token(token) ? 1 : 0;
}

halftone_status halftone_language_model_bytes_per_token(const halftone_language_model* model,
                                                        size_t length, uint64_t* bytes) noexcept {
  return guarded([&] {
    Language& language = *required(model, "model").state;
    std::uint64_t& result = required(bytes, "bytes");
    use_alone(language, [&] {
      const std::size_t context = language.model.model().context();
      if (length > context) {
        fail(ErrorKind::kUsage, "length: expected at most " + std::to_string(context) +
                                    ", which is the context, found " + std::to_string(length));
      }
      result = language.model.model().bytes_per_token(length);
    });
  });
}

halftone_status halftone_language_model_tokenize(const halftone_language_model* model,
                                                 const char* text,
                                                 const halftone_tokenize_options* options,
                                                 halftone_tokens* tokens) noexcept {
  return guarded([&] {
    const TextModel& language = required(model, "model").state->model;
    const std::string_view source(&required(text, "text"));
    halftone_tokens& result = required(tokens, "tokens");
    const halftone_tokenize_options mine = known(options, "options");
    give_tokens(
        language.tokenize(source, {.begin = mine.no_begin == 0, .control = mine.control != 0}),
        result);
  });
}

halftone_status halftone_language_model_detokenize(const halftone_language_model* model,
                                                   const int32_t* tokens, size_t num_tokens,
                                                   halftone_text* text) noexcept {
  return guarded([&] {
    const TextModel& language = required(model, "model").state->model;
    give_text(language.detokenize(tokens_of(tokens, num_tokens)), text);
  });
}

halftone_status halftone_language_model_token_text(const halftone_language_model* model,
                                                   int32_t token, halftone_text* text) noexcept {
  return guarded([&] { give_text(required(model, "model").state->model.token_text(token), text); });
}

halftone_status halftone_language_model_append(halftone_language_model* model, size_t sequence,
                                               const int32_t* tokens, size_t num_tokens,
                                               const halftone_output* logits) noexcept {
  return guarded([&] {
    Language& language = *required(model, "model").state;
    use_alone(language, [&] { append(language, sequence, tokens_of(tokens, num_tokens), logits); });
  });
}

halftone_status halftone_language_model_append_each(halftone_language_model* model,
                                                    const halftone_sequence_tokens* parts,
                                                    size_t num_parts,
                                                    const halftone_output* logits) noexcept {
  return guarded([&] {
    Language& language = *required(model, "model").state;
    if (num_parts != 0) required(parts, "parts");
    use_alone(language, [&] { append_each(language, {parts, num_parts}, logits); });
  });
}

halftone_status halftone_language_model_embedding_width(halftone_language_model* model,
                                                        size_t* width) noexcept {
  return guarded([&] {
    Language& language = *required(model, "model").state;
    std::size_t& result = required(width, "width");
    use_alone(language, [&] { result = language.model.embedder().width(); });
  });
}

halftone_status halftone_language_model_embed(halftone_language_model* model,
                                              const char* const* texts, size_t num_texts,
                                              const halftone_output* vectors) noexcept {
  return guarded([&] {
    Language& language = *required(model, "model").state;
    if (num_texts != 0) required(texts, "texts");
    const halftone_output& result = required(vectors, "vectors");
    use_alone(language, [&] { embed(language, {texts, num_texts}, result); });
  });
}

halftone_status halftone_language_model_length(const halftone_language_model* model,
                                               size_t sequence, size_t* length) noexcept {
  return guarded([&] {
    Language& language = *required(model, "model").state;
    std::size_t& result = required(length, "length");
    use_alone(language, [&] {
      check_sequence(language, sequence);
      result = language.model.model().length(sequence);
    });
  });
}

halftone_status halftone_language_model_truncate(halftone_language_model* model, size_t sequence,
                                                 size_t length) noexcept {
  return guarded([&] {
    Language& language = *required(model, "model").state;
    use_alone(language, [&] { language.model.model().truncate(sequence, length); });
  });
}
