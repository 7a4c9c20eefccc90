// SPDX-License-Identifier: Apache-2.0
// Finds calls of functions in what a model writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/tools/tool_notation.h"

namespace halftone::lm {

struct ToolCall {
  std::string name;
  std::string arguments;  ///< an object in JSON
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
  /// @param names       of the functions
  /// @param is_in_call  whether the text begins with the name of a function
  ToolCallReader(ToolNotation notation, std::vector<std::string> names, bool is_in_call);

  /// Takes more of the text.
  ToolText push(std::string_view text);
  /// The rest, where no more comes.
  ToolText finish();

 private:
  enum class Fit : std::uint8_t { kNo, kBegun, kYes };
  struct Match {
    Fit fit = Fit::kNo;
    std::size_t end = 0;  ///< behind what fits
  };

  /// Whether a part of the notation is somewhere in the text.
  [[nodiscard]] Match match(std::size_t at, std::string_view part) const;
  [[nodiscard]] Match match_object(std::size_t at) const;
  /// A name with arguments.
  [[nodiscard]] Match match_call(std::size_t at, ToolCall& call) const;
  /// Each takes from the text what is certain. @return whether there may be more to take
  bool take_content(bool is_last, ToolText& found);
  bool take_next(bool is_last, ToolText& found);
  void read(bool is_last, ToolText& found);
  void take_call(const Match& behind, ToolCall call, ToolText& found);

  ToolNotation notation_;
  std::vector<std::string> names_;
  enum class State : std::uint8_t { kContent, kName, kBehind };
  State state_;
  std::string text_;  ///< that is not certain yet
};

}  // namespace halftone::lm
