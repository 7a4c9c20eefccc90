// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/generate.h"

#include <algorithm>
#include <chrono>

#include "halftone/base/error.h"
#include "halftone/lm/generate/sampler.h"
#include "halftone/lm/generate/text_stream.h"

namespace halftone::lm {
namespace {

/// Tokens of a prompt between two questions whether to stop.
constexpr std::size_t kPromptPart = 256;

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// A generation in progress.
class Run {
 public:
  Run(TokenModel& model, const Tokenizer& tokenizer, const GenerateJob& options)
      : model_(model),
        options_(options),
        sampler_(options.sampling),
        stream_(tokenizer, {options.end_tokens, options.stops}, options.is_begin),
        num_tokens_(std::min(model.vocabulary(), tokenizer.vocabulary().size())) {}

  Generation operator()(std::span<const TokenId> prompt) {
    for (const TokenId token : prompt) sampler_.accept(token);
    const std::vector<float> logits = read(prompt);
    result_.prompt_seconds = watch_.seconds();
    if (!logits.empty() && options_.max_tokens > 0) write(logits);
    const std::string rest = stream_.finish();
    result_.text += rest;
    if (!rest.empty()) (void)goes_on(kNoToken, rest);
    return std::move(result_);
  }

 private:
  /// Runs what the model does not have of the prompt. @return  logits; none if interrupted
  std::vector<float> read(std::span<const TokenId> prompt) {
    const auto differs = std::ranges::mismatch(prompt, model_.tokens(options_.sequence)).in1;
    // The logits behind the last token are needed in any case.
    const std::size_t same =
        std::min(static_cast<std::size_t>(differs - prompt.begin()), prompt.size() - 1);
    model_.truncate(options_.sequence, same);
    result_.reused_tokens = result_.prompt_tokens = same;
    std::vector<float> logits;
    for (std::size_t at = same; at < prompt.size(); at += kPromptPart) {
      if (!goes_on(kNoToken, "")) {
        end(End::kInterrupted);
        return {};
      }
      const std::size_t count = std::min(kPromptPart, prompt.size() - at);
      logits = model_.append(options_.sequence, prompt.subspan(at, count), false);
      result_.prompt_tokens += count;
    }
    return logits;
  }
  void write(std::vector<float> logits) {
    for (;;) {
      // Some models have logits without a token, which pad their number.
      const TokenId token = draw(std::span(logits).first(num_tokens_));
      result_.tokens.push_back(token);
      if (result_.tokens.size() == 1) result_.first_seconds = watch_.seconds();
      const std::string piece = stream_.push(token);
      result_.text += piece;
      const bool is_wanted = goes_on(token, piece);
      if (has_ended()) break;
      if (!is_wanted) {
        end(End::kInterrupted);
        break;
      }
      logits = model_.append(options_.sequence, {&token, 1}, false);
    }
    result_.generate_seconds = watch_.seconds() - result_.first_seconds;
  }
  TokenId draw(std::span<float> logits) {
    if (options_.constraint != nullptr) options_.constraint->apply(logits);
    const TokenId token = sampler_.sample(logits);
    sampler_.accept(token);
    if (options_.constraint != nullptr) options_.constraint->accept(token);
    return token;
  }
  bool goes_on(TokenId token, std::string_view text) {
    return !options_.on_token || options_.on_token(token, text);
  }
  bool end(End reason) {
    result_.end = reason;
    return true;
  }
  bool has_ended() {
    if (stream_.stop_reason() == StopReason::kToken) return end(End::kToken);
    if (stream_.stop_reason() == StopReason::kText) return end(End::kText);
    if (options_.constraint != nullptr && options_.constraint->must_end()) {
      return end(End::kToken);
    }
    if (result_.tokens.size() >= options_.max_tokens) return end(End::kCount);
    if (model_.length(options_.sequence) >= model_.context()) return end(End::kContext);
    return false;
  }

  TokenModel& model_;
  const GenerateJob& options_;
  Sampler sampler_;
  TextStream stream_;
  std::size_t num_tokens_;
  Stopwatch watch_;
  Generation result_;
};

}  // namespace

Generation generate(TokenModel& model, const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                    const GenerateJob& options) {
  if (options.sequence >= model.sequences()) {
    fail(ErrorKind::kUsage, "sequence: expected 0 to " + std::to_string(model.sequences() - 1) +
                                ", found " + std::to_string(options.sequence));
  }
  if (prompt.empty()) {
    fail(ErrorKind::kUsage,
         "prompt: expected a token at least, found none: the model has no token "
         "that begins a text; give it some text");
  }
  if (prompt.size() > model.context()) {
    fail(ErrorKind::kUsage,
         "prompt: expected at most " + std::to_string(model.context()) +
             " tokens, which is the context, found " + std::to_string(prompt.size()),
         Hint::kContext);
  }
  return Run(model, tokenizer, options)(prompt);
}

}  // namespace halftone::lm
