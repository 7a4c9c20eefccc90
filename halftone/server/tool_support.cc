// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/tool_support.h"

#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/json_schema.h"
#include "halftone/lm/tools/tool_grammar.h"
#include "halftone/server/request_error.h"

namespace halftone::server {
namespace {

constexpr const char* kAnyObject = R"({"type": "object"})";

/// Runs `work`, whose errors are those of a member of requests.
template <typename Work>
auto blame(const char* member, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory) throw;
    throw RequestError(400, error.what(), member);
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
  blame("tools", [&] { std::call_once(once_, [&] { find_notation(); }); });
  return *notation_;
}

bool ToolSupport::as_text() const {
  (void)notation();
  return as_text_;
}

std::shared_ptr<lm::TextForm> ToolSupport::form_of(const ToolUse& tools,
                                                   const std::string& schema) const {
  return forms_.get(key_of(tools) + "\n" + schema, [&] {
    if (!schema.empty()) {
      blame("response_format", [&] { (void)lm::grammar_of_schema(schema); });
    }
    lm::Grammar grammar = blame("tools", [&] {
      return schema.empty()
                 ? lm::grammar_of_calls(notation(), tools.functions, tools.is_single)
                 : lm::grammar_of_answers(notation(), tools.functions, tools.is_single, schema);
    });
    return std::make_shared<lm::TextForm>(std::make_shared<lm::Grammar>(std::move(grammar)),
                                          tokens_);
  });
}

void ToolSupport::prepare(const ToolUse& tools, const std::string& schema,
                          PreparedText& text) const {
  (void)notation();
  text.job.shown_tokens = shown_;
  if (tools.is_required) {
    text.job.form = form_of(tools, "");
    text.job.is_begin = false;  // the prompt ends inside of a call
  } else if (!schema.empty()) {
    text.job.form = form_of(tools, schema == "json" ? kAnyObject : schema);
  }
}

}  // namespace halftone::server
