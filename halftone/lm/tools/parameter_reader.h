// SPDX-License-Identifier: Apache-2.0
// Reads arguments that are written one by one.
#pragma once

#include <bitset>
#include <map>
#include <string>
#include <string_view>

#include "halftone/lm/tools/notation_match.h"

namespace halftone::lm {

using JsonTypes = std::bitset<kNumJsonTypes>;

/// The types that each parameter of a function may have. A schema that does not say it names none.
std::map<std::string, JsonTypes> parameter_types(const ToolFunction& function);

class ParameterReader {
 public:
  /// All must outlive this.
  ParameterReader(const ToolParameters& parameters, const std::map<std::string, JsonTypes>& types,
                  CallMarks& marks)
      : parameters_(parameters), types_(types), marks_(marks), mark_(parameters.mark()) {}

  /// What is behind the name of a function, up to behind its arguments.
  /// @param middle     as ToolNotation has it
  /// @param arguments  becomes an object in JSON
  Match read(std::string_view text, std::size_t at, std::string_view middle,
             std::string& arguments);

 private:
  struct Value {
    Match match;  ///< behind what follows the value
    std::string json;
    bool is_last = false;
  };

  Value read_value(std::string_view text, std::size_t at);
  Value read_literal_value(std::string_view text, std::size_t at, const ToolParameters::Form& form);
  Value read_text_value(std::string_view text, std::size_t at);
  /// What follows a value.
  Value read_end(std::string_view text, std::size_t at, const ToolParameters::Form& form);
  [[nodiscard]] std::string json_of_text(std::string_view text) const;

  const ToolParameters& parameters_;
  const std::map<std::string, JsonTypes>& types_;
  CallMarks& marks_;
  std::string mark_;
};

}  // namespace halftone::lm
