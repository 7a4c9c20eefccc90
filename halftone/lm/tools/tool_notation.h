// SPDX-License-Identifier: Apache-2.0
// How a model writes calls of functions.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/lm/chat/chat_template.h"
#include "halftone/lm/tools/tool_function.h"

namespace halftone::lm {

/// How arguments are written one by one:
///   key open value (next key open value)* close
/// or nothing of it where there are none.
struct ToolParameters {
  /// What is around a value.
  struct Form {
    std::string open;   ///< between a key and the value
    std::string next;   ///< between the value and the next key
    std::string close;  ///< behind the last value
    bool operator==(const Form&) const = default;
  };
  /// By the type of the value. A string is written as it is, another value as a literal.
  std::array<Form, kNumJsonTypes> forms;
  /// Behind the name of a function without arguments; empty: such calls are not written.
  std::string none;

  [[nodiscard]] const Form& form(JsonType type) const {
    return forms[static_cast<std::size_t>(type)];
  }
  /// What marks a string within a literal, if it is other than a quote; else empty.
  [[nodiscard]] std::string mark() const;
};

/// What is written around the names and the arguments of calls:
///   begin name middle arguments (between name middle arguments)* end
/// with arguments that are an object in JSON, as in
///   <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>
/// or parameters one by one, as in
///   <tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>
struct ToolNotation {
  // Signs within the parts, where there is:
  static constexpr char kId = '\x01';      ///< an id of the model's choice
  static constexpr char kNumber = '\x02';  ///< a number that differs from call to call
  static constexpr char kName = '\x03';    ///< the name of the function once more
  static constexpr char kKey = '\x04';     ///< the key of the value in front once more

  std::string begin;
  std::string middle;
  std::string between;  ///< empty: one call only
  std::string end;
  std::optional<ToolParameters> parameters{};  ///< none: arguments are an object in JSON
  /// The id of a call that its name and number make, as in "functions.add:0"; empty: ids are free.
  std::string id{};
  /// Other texts for "begin" and "middle", which the model writes as well.
  std::vector<std::pair<std::string, std::string>> variants{};
};

/// Found in a conversation with calls, as the template writes it.
/// @param ends     texts that end answers
/// @param as_text  whether functions and calls are in contents: ChatRequest::tools_as_text
/// @throws Error kUnsupported if the template ignores descriptions of functions, or writes calls in
///         another notation
ToolNotation tool_notation(const ChatTemplate& chat_template, const ChatMarks& marks,
                           std::span<const std::string> ends, bool as_text = false);

/// Control tokens of the notation, which are text in a call.
std::vector<TokenId> tokens_of(const ToolNotation& notation, const Vocabulary& vocabulary);

}  // namespace halftone::lm
