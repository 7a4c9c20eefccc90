// SPDX-License-Identifier: Apache-2.0
// Finds calls of functions in what a model writes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/tools/notation_match.h"
#include "halftone/lm/tools/parameter_reader.h"

namespace halftone::lm {

struct ToolCall {
  std::string name;
  std::string arguments;  ///< an object in JSON
  std::string id{};       ///< where the notation has ids of its own; else empty
};

/// What is certain of a text: content, and calls behind it.
struct ToolText {
  std::string content;
  std::vector<ToolCall> calls;
};

/// Splits a text into content and calls as it comes. White space may be anywhere in a call; what is
/// no call of a known function with an object in JSON is content.
class ToolCallReader {
 public:
  /// @param is_in_call  whether the text begins with the name of a function
  ToolCallReader(ToolNotation notation, const std::vector<ToolFunction>& functions,
                 bool is_in_call);

  /// Takes more of the text.
  ToolText push(std::string_view text);
  /// The rest, where no more comes.
  ToolText finish();

 private:
  struct Function {
    std::string name;
    std::map<std::string, JsonTypes> types;  ///< of parameters
  };

  [[nodiscard]] Match match(std::size_t at, std::string_view part) const;
  [[nodiscard]] Match match_object(std::size_t at) const;
  /// A name with arguments.
  /// @param middle  what is between the two
  [[nodiscard]] Match match_call(std::size_t at, const std::string& middle, ToolCall& call) const;
  [[nodiscard]] Match match_arguments(std::size_t at, const std::string& middle,
                                      const Function& function, ToolCall& call) const;
  /// A call with what is in front of it.
  [[nodiscard]] Match match_begin(std::size_t at, ToolCall& call) const;
  /// Each takes from the text what is certain. @return whether there may be more to take
  bool take_content(bool is_last, ToolText& found);
  bool take_next(bool is_last, ToolText& found);
  void read(bool is_last, ToolText& found);
  void take_call(const Match& behind, ToolCall call, ToolText& found);

  ToolNotation notation_;
  std::vector<Function> functions_;
  enum class State : std::uint8_t { kContent, kName, kBehind };
  State state_;
  std::string text_;  ///< that is not certain yet
};

}  // namespace halftone::lm
