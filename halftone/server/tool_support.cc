// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/tool_support.h"

#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/tools/tool_grammar.h"
#include "halftone/server/request_error.h"

namespace halftone::server {
namespace {

/// Runs `work`, whose errors are those of the member "tools".
template <typename Work>
auto blame_tools(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory) throw;
    throw RequestError(400, error.what(), "tools");
  }
}

/// The texts behind which no answer goes on.
std::vector<std::string> end_texts(const TextModel& model, const lm::ChatTemplate& chat_template) {
  const lm::ChatMarks& marks = model.texts().marks;
  std::vector<std::string> ends{marks.end};
  const std::string end = chat_template.end_of_turn(marks);
  ends.push_back(end.substr(0, end.find_first_of(" \n")));
  for (const lm::TokenId token : model.texts().answer_end_tokens) {
    ends.push_back(model.tokenizer().text(token));
  }
  return ends;
}

/// Of the form of calls.
std::string key_of(const ToolUse& tools) {
  std::string key = tools.is_single ? "one" : "many";
  for (const lm::ToolFunction& each : tools.functions) {
    key += "\n" + each.name + "\n" + each.parameters;
  }
  return key;
}

}  // namespace

void ToolSupport::find_notation() const {
  const lm::ChatTemplate chat_template = model_.chat_template(chat_template_);
  const std::vector<std::string> ends = end_texts(model_, chat_template);
  const auto found = [&] {
    return lm::tool_notation(chat_template, model_.texts().marks, ends, as_text_);
  };
  lm::ToolNotation notation = [&] {
    try {
      return found();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      as_text_ = true;
      return found();
    }
  }();
  shown_ = lm::tokens_of(notation, model_.tokenizer().vocabulary());
  tokens_ = shown_.empty() ? model_.constraint_tokens()
                           : std::make_shared<lm::ConstraintTokens>(model_.tokenizer(), shown_);
  notation_ = std::move(notation);
}

const lm::ToolNotation& ToolSupport::notation() const {
  blame_tools([&] { std::call_once(once_, [&] { find_notation(); }); });
  return *notation_;
}

bool ToolSupport::as_text() const {
  (void)notation();
  return as_text_;
}

void ToolSupport::prepare(const ToolUse& tools, PreparedText& text) const {
  const lm::ToolNotation& notation = this->notation();
  text.job.shown_tokens = shown_;
  if (!tools.is_required) return;
  text.job.form = blame_tools([&] {
    return forms_.get(key_of(tools), [&] {
      return std::make_shared<lm::TextForm>(std::make_shared<lm::Grammar>(lm::grammar_of_calls(
                                                notation, tools.functions, tools.is_single)),
                                            tokens_);
    });
  });
  text.job.is_begin = false;  // the prompt ends inside of a call
}

}  // namespace halftone::server
