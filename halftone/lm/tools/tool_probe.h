// SPDX-License-Identifier: Apache-2.0
// Conversations with calls, from which a notation is found.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "halftone/lm/chat/chat_template.h"

namespace halftone::lm {

/// Has a template write calls of functions whose names, keys and values stand nowhere else.
class ToolProbe {
 public:
  static constexpr std::size_t kMaxCalls = 3;
  static constexpr std::array<std::string_view, kMaxCalls> kNames = {"probe_first", "probe_second",
                                                                     "probe_third"};
  static constexpr std::array<std::string_view, 2> kKeys = {"probe_key", "probe_other"};
  static constexpr std::array<std::string_view, 2> kTexts = {"probe value", "other text"};
  static constexpr std::string_view kNumber = "70007";

  /// @param ends     texts that end answers
  /// @param as_text  whether functions and calls are in contents: ChatRequest::tools_as_text
  ToolProbe(const ChatTemplate& chat_template, const ChatMarks& marks,
            std::span<const std::string> ends, bool as_text);

  /// Whether what the template writes depends on the functions that there are.
  [[nodiscard]] bool reads_tools() const;
  /// Finds where calls begin, behind the prompt or the content of an answer.
  /// @return  whether there are any
  [[nodiscard]] bool find_calls();

  /// Some calls with the same arguments, from where they begin up to where the answer ends.
  /// @param num_calls  1 to kMaxCalls
  /// @param arguments  an object in JSON
  /// @return nullopt if the template refuses or leaves out one
  [[nodiscard]] std::optional<std::string> calls(std::size_t num_calls,
                                                 const std::string& arguments) const;
  /// The parts of a notation with signs where ids and the name are, and, for what two calls have in
  /// the same role, numbers that differ.
  [[nodiscard]] std::string marked(std::string_view part, std::string_view name) const;
  [[nodiscard]] static std::optional<std::string> with_numbers(std::string_view first,
                                                               std::string_view second);
  /// As ToolNotation has it.
  [[nodiscard]] std::string id() const;

  /// Both parameters with the same value in JSON.
  static std::string arguments(std::string_view value);
  /// With kTexts.
  static std::string text_arguments();

 private:
  [[nodiscard]] std::optional<std::string> text(ChatRequest request) const;
  [[nodiscard]] std::optional<std::string> answer(std::size_t num_calls,
                                                  const std::string& arguments) const;
  [[nodiscard]] std::size_t length_of_end(std::string_view rest) const;

  const ChatTemplate& template_;
  const ChatMarks& marks_;
  std::span<const std::string> ends_;
  bool as_text_;
  bool has_named_ids_ = false;  ///< ids are made of names and numbers
  std::string plain_;           ///< a conversation that ends with an answer
  std::size_t begin_ = 0;       ///< of the calls
};

}  // namespace halftone::lm
