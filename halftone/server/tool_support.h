// SPDX-License-Identifier: Apache-2.0
// Calls of functions by the served model.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "halftone/api/text_generation.h"
#include "halftone/lm/tools/tool_notation.h"
#include "halftone/server/completion_request.h"

namespace halftone::server {

/// Any number of threads may use it.
class ToolSupport {
 public:
  /// @param model          must outlive this
  /// @param chat_template  as v0::AnswerOptions has it
  ToolSupport(const TextModel& model, std::string chat_template)
      : model_(model), chat_template_(std::move(chat_template)) {}

  /// Found when it is first asked for.
  /// @throws RequestError 400 if the model has no template for conversations
  [[nodiscard]] const lm::ToolNotation& notation() const;
  /// Whether functions and calls are texts of messages, because the template has none of its own.
  /// @throws RequestError as notation()
  [[nodiscard]] bool as_text() const;
  /// Has an answer show calls; where they are required, write nothing else.
  /// @param schema  of JSON that an answer without calls is, as v0::GenerateOptions has it; empty:
  ///                it is any text
  /// @throws RequestError 400 that names "tools" or "response_format"
  void prepare(const ToolUse& tools, const std::string& schema, PreparedText& text) const;

 private:
  void find_notation() const;
  /// @param schema  as grammar_of_answers() has it; empty: calls only
  std::shared_ptr<lm::TextForm> form_of(const ToolUse& tools, const std::string& schema) const;

  const TextModel& model_;
  std::string chat_template_;
  mutable std::once_flag once_;
  mutable std::optional<lm::ToolNotation> notation_;
  mutable bool as_text_ = false;
  mutable std::vector<lm::TokenId> shown_;
  mutable std::shared_ptr<const lm::ConstraintTokens> tokens_;  // shared by texts in progress
  mutable FormCache forms_;
};

}  // namespace halftone::server
