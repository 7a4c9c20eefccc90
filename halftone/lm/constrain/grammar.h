// SPDX-License-Identifier: Apache-2.0
// Context-free grammars over bytes: what a text may be.
#pragma once

#include <bitset>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone::lm {

using ByteSet = std::bitset<256>;

/// What a rule is made of: one byte of a set, or another rule.
struct Symbol {
  enum class Kind : std::uint8_t { kBytes, kRule };
  Kind kind = Kind::kBytes;
  std::uint32_t index = 0;  ///< of the set, or of the rule
  auto operator<=>(const Symbol&) const = default;
};

/// Symbols one after another.
using Sequence = std::vector<Symbol>;
/// Sequences, of which a text is one. None: no text fits.
using Choices = std::vector<Sequence>;

/// Characters from one code point to another, both of them included.
struct CharacterRange {
  char32_t first = 0;
  char32_t last = 0;
  auto operator<=>(const CharacterRange&) const = default;
};

inline constexpr char32_t kLastCharacter = 0x10FFFF;
inline constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

/// A grammar as it grows. Each function gives choices, which others put together.
class Grammar {
 public:
  /// Symbols that a grammar may have.
  static constexpr std::size_t kMaxSymbols = std::size_t{1} << 20;
  /// Groups, or schemas, in each other that a text which says a grammar may have.
  static constexpr std::size_t kMaxDepth = 100;
  /// Repetitions that it may ask for.
  static constexpr std::size_t kMaxRepeat = 100'000;

  /// A rule without a definition yet, for those that refer to themselves.
  Symbol declare(std::string name);
  void define(Symbol rule, Choices choices);
  /// The rule that texts follow, once all are defined. What cannot end is left out.
  /// @throws Error kUsage if no text fits, or a rule begins with itself
  void set_root(Symbol rule);

  /// The same as a rule of its own, which costs no more wherever it is used.
  Choices shared(Choices choices) { return {{rule_of(std::move(choices))}}; }

  /// A text and nothing else.
  Choices text(std::string_view bytes);
  /// One byte of a set.
  Choices byte(const ByteSet& set);
  /// One character of these, in UTF-8; surrogates are none. An empty list: no text fits.
  Choices characters(std::vector<CharacterRange> ranges);
  Choices sequence(std::vector<Choices> parts);
  static Choices either(std::vector<Choices> parts);
  /// @param most  kUnbounded: any number
  Choices repeat(Choices what, std::size_t least, std::size_t most);
  Choices optional(Choices what) { return repeat(std::move(what), 0, 1); }

  struct Rule {
    std::string name;  ///< empty where no user wrote it
    Choices choices;
  };
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }
  [[nodiscard]] const std::vector<ByteSet>& sets() const { return sets_; }
  [[nodiscard]] Symbol root() const { return root_; }

 private:
  Symbol rule_of(Choices choices);
  Symbol set_of(const ByteSet& set);
  Sequence bytes_between(std::string_view first, std::string_view last);
  void count(std::size_t symbols);

  std::vector<Rule> rules_;
  std::vector<ByteSet> sets_;
  Symbol root_;
  std::size_t num_symbols_ = 0;
};

/// The characters that are in none of the ranges.
std::vector<CharacterRange> all_but(std::vector<CharacterRange> ranges);

}  // namespace halftone::lm
