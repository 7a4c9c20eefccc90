// SPDX-License-Identifier: Apache-2.0
// Measures a language model on a text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/base/state/state_identity.h"
#include "halftone/lm/evaluate/measures.h"
#include "halftone/lm/generate/token_model.h"
#include "halftone/types/defaults.hpp"
#include "halftone/types/language.hpp"

namespace halftone::lm {

/// The windows of a text of T tokens: those that begin at 0, stride, 2 stride, ... have `context`
/// tokens, the last one perhaps fewer. Each is a sequence of its own. A token that windows share
/// counts once, in the first one that has tokens in front of it; the first token of a text, and
/// without overlap of each window, is not predicted and does not count.
struct WindowOptions {
  std::size_t context = v0::kTextWindow;  ///< at least 2
  std::size_t stride = 0;                 ///< 1 to context; 0: context
  /// Counts only the tokens behind the middle, context / 2 + 1 and up, of whole windows without
  /// overlap: what llama.cpp's program llama-perplexity does.
  bool second_half = false;
  std::size_t limit = 0;  ///< windows to use, from the front; 0: all
};

struct Window {
  std::size_t begin = 0;    ///< index of its first token
  std::size_t size = 0;     ///< tokens
  std::size_t counted = 0;  ///< tokens from this one on count, within the window; at least 1

  bool operator==(const Window&) const = default;
};

/// @throws Error kUsage if the options are out of range or contradict each other, or no token
/// counts
std::vector<Window> windows_of(std::size_t num_tokens, const WindowOptions& options);

using v0::TextComparison;
using v0::TextEvaluation;

/// A token that was measured.
struct MeasuredToken {
  std::size_t index = 0;     ///< in the tokens of the text
  std::size_t position = 0;  ///< in its window
  TokenMeasures measures{};
};

struct TextEvaluationJob {
  TokenModel& model;
  TokenModel* reference = nullptr;  ///< null: none
  std::span<const TokenId>
      tokens;                ///< of the whole text, with the begin token if the model has one
  TokenId begin = kNoToken;  ///< in place of the first token of each window, if the text
                             ///< begins with it
  WindowOptions windows{};
  std::filesystem::path state{};  ///< keeps what was measured after each window; empty: nothing
  JobIdentity identity{};         ///< of models and text: a state of others is refused
  ProgressSink progress{};        ///< may be empty
  /// Called with every token that counts, in order, but for those that a state knows already. May
  /// be empty.
  std::function<void(const MeasuredToken&)> visit{};
};

/// Runs each window through the models. With a state file an evaluation that was interrupted
/// continues; the result has the same bits.
/// @throws Error kUsage as windows_of(), or if the context of a model is shorter than a window;
///         kShape if the models have vocabularies of different sizes; kFormat if logits are no
///         numbers, or the state is not such a file or belongs to another evaluation
TextEvaluation evaluate_text(const TextEvaluationJob& job);

}  // namespace halftone::lm
