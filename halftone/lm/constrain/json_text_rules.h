// SPDX-License-Identifier: Apache-2.0
// The parts of JSON as choices of a grammar.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/lm/constrain/grammar.h"

namespace halftone::lm {

/// Writes texts in JSON (RFC 8259) in one form of the many that there are: characters without
/// escapes where JSON allows it; between signs nothing, a space, or a new line and up to 20 spaces
/// or tabs, so that no text goes on with white space for ever.
class JsonRules {
 public:
  explicit JsonRules(Grammar& grammar);

  /// Any value.
  [[nodiscard]] Choices value() const { return {{value_}}; }
  /// Any object.
  [[nodiscard]] Choices object() const { return {{object_}}; }
  [[nodiscard]] Choices array() const { return {{array_}}; }
  [[nodiscard]] Choices string() const { return {{string_}}; }
  /// Of up to 16 digits, and as many behind the point.
  [[nodiscard]] Choices number() const { return {{number_}}; }
  [[nodiscard]] Choices integer() const { return {{integer_}}; }
  [[nodiscard]] Choices space() const { return {{space_}}; }
  /// One character of these within a string.
  [[nodiscard]] Choices characters(std::vector<CharacterRange> ranges) const;
  /// A string with this content.
  [[nodiscard]] Choices quoted(Choices content) const;
  [[nodiscard]] Choices member(Choices key, Choices value) const;
  /// "{", "[" with white space behind, and the like.
  [[nodiscard]] Choices sign(std::string_view text) const;
  /// A value with white space behind.
  [[nodiscard]] Choices spaced(Choices value) const;

 private:
  void define_numbers();
  void define_containers();

  Grammar& grammar_;
  Symbol value_, object_, array_, string_, number_, integer_, space_;
};

}  // namespace halftone::lm
