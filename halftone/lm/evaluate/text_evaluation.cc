// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/evaluate/text_evaluation.h"

#include <algorithm>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/lm/evaluate/evaluation_state.h"

namespace halftone::lm {
namespace {

/// Tokens that run at once: with a vocabulary of 150,000 their logits take 40 MB.
constexpr std::size_t kRunTokens = 64;

void check_windows(const WindowOptions& options) {
  if (options.context < 2) {
    fail(ErrorKind::kUsage,
         "context: expected 2 tokens or more, found " + std::to_string(options.context),
         Hint::kContext);
  }
  if (options.stride > options.context) {
    fail(ErrorKind::kUsage, "stride: expected 1 to " + std::to_string(options.context) +
                                ", which is the context, found " + std::to_string(options.stride));
  }
  if (options.second_half && options.stride != 0 && options.stride != options.context)
    fail(ErrorKind::kUsage, "stride: expected none where the second half of windows counts");
}

/// The models on the windows of a text.
class Evaluator {
 public:
  explicit Evaluator(const TextEvaluationJob& job)
      : job_(job),
        begins_(job.begin != kNoToken && !job.tokens.empty() && job.tokens.front() == job.begin) {}

  void run(const Window& window, EvaluationState& state) {
    std::vector<TokenId> tokens(
        job_.tokens.begin() + static_cast<std::ptrdiff_t>(window.begin),
        job_.tokens.begin() + static_cast<std::ptrdiff_t>(window.begin + window.size));
    if (begins_) tokens[0] = job_.begin;
    job_.model.truncate(0, 0);
    if (job_.reference != nullptr) job_.reference->truncate(0, 0);
    // The last token of a window predicts nothing.
    for (std::size_t at = 0; at + 1 < tokens.size(); at += kRunTokens) {
      const std::size_t count = std::min(kRunTokens, tokens.size() - 1 - at);
      const std::size_t first = std::max(at, window.counted - 1);  // predicts a token that counts
      run_part(std::span(tokens).subspan(at), count, first < at + count ? first - at : count,
               state);
      for (std::size_t i = 0; job_.visit && i < measured_.size(); ++i) {
        const std::size_t position = at + count - measured_.size() + i + 1;
        job_.visit({window.begin + position, position, measured_[i]});
      }
    }
  }

 private:
  /// Runs `count` tokens, and measures what those from `first` on predict.
  void run_part(std::span<const TokenId> tokens, std::size_t count, std::size_t first,
                EvaluationState& state) {
    const bool counts = first < count;
    const auto logits = job_.model.append(0, tokens.first(count), counts);
    const auto reference = job_.reference != nullptr
                               ? job_.reference->append(0, tokens.first(count), counts)
                               : std::vector<float>{};
    const auto row = [&](const std::vector<float>& rows, std::size_t i) {
      const std::size_t size = rows.size() / count;
      return std::span(rows).subspan(i * size, size);
    };
    measured_.assign(count - first, {});
    parallel_for(measured_.size(), [&](std::size_t i) {
      measured_[i] =
          measure_token(row(logits, first + i), row(reference, first + i), tokens[first + i + 1]);
    });
    for (const TokenMeasures& each : measured_) {
      if (!std::isfinite(each.loss) || !std::isfinite(each.kl))
        fail(ErrorKind::kFormat, "a token of the text has probability 0; the model is broken");
      state.add(each, job_.reference != nullptr);
    }
  }

  const TextEvaluationJob& job_;
  bool begins_;
  std::vector<TokenMeasures> measured_;  ///< of the last part
};

void check_models(const TextEvaluationJob& job, const std::vector<Window>& windows) {
  std::size_t longest = 0;
  for (const Window& window : windows) longest = std::max(longest, window.size - 1);
  for (const TokenModel* model : {static_cast<const TokenModel*>(&job.model),
                                  static_cast<const TokenModel*>(job.reference)}) {
    if (model == nullptr) continue;
    if (model->context() < longest) {
      fail(ErrorKind::kUsage,
           "context: expected at most the " + std::to_string(model->context()) +
               " tokens of the model, found windows of " + std::to_string(longest + 1),
           Hint::kContext);
    }
    if (model->vocabulary() != job.model.vocabulary()) {
      fail(ErrorKind::kShape,
           "reference: expected a vocabulary of " + std::to_string(job.model.vocabulary()) +
               " tokens, as the model has, found " + std::to_string(model->vocabulary()),
           Hint::kReference);
    }
  }
}

}  // namespace

std::vector<Window> windows_of(std::size_t num_tokens, const WindowOptions& options) {
  check_windows(options);
  const std::size_t stride = options.stride == 0 ? options.context : options.stride;
  const std::size_t overlap = options.context - stride;
  std::vector<Window> windows;
  for (std::size_t begin = 0; begin < num_tokens; begin += stride) {
    Window window{begin, std::min(options.context, num_tokens - begin), 1};
    if (begin > 0) window.counted = std::max<std::size_t>(1, overlap);
    if (options.second_half) {
      window.counted = options.context / 2 + 1;
      if (window.size < options.context) break;
    }
    if (window.counted >= window.size) break;  // no token is left
    windows.push_back(window);
    if (windows.size() == options.limit) break;
  }
  if (windows.empty()) {
    fail(ErrorKind::kUsage, "text: expected " +
                                std::to_string(options.second_half ? options.context : 2) +
                                " tokens or more, found " + std::to_string(num_tokens));
  }
  return windows;
}

TextEvaluation evaluate_text(const TextEvaluationJob& job) {
  const std::vector<Window> windows = windows_of(job.tokens.size(), job.windows);
  check_models(job, windows);
  const bool has_state = !job.state.empty();
  StateFile kept(job.state, "measures of a text", evaluation_identity(job), has_state);
  EvaluationState state = known_windows(kept);
  Evaluator evaluator(job);
  while (state.num_windows < windows.size()) {
    if (job.progress) {
      job.progress(static_cast<double>(state.num_windows) / static_cast<double>(windows.size()),
                   "window " + std::to_string(state.num_windows + 1) + " of " +
                       std::to_string(windows.size()));
    }
    const std::size_t num_kls = state.kls.size();
    evaluator.run(windows[state.num_windows], state);
    ++state.num_windows;
    if (has_state) keep_window(state, num_kls, kept);
  }
  return state.result(job.reference != nullptr);
}

}  // namespace halftone::lm
