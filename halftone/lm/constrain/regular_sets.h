// SPDX-License-Identifier: Apache-2.0
// Sets of texts that finite automata know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/lm/constrain/grammar.h"

namespace halftone::lm {

using CharacterRanges = std::vector<CharacterRange>;

/// How one character of some ranges is written.
using CharacterChoices = std::function<Choices(CharacterRanges)>;

/// Sets of texts, made of smaller ones: regular expressions with intersection and complement. A set
/// that is made twice has one number. What a set goes on with behind a character is its derivative,
/// a set again. Sources: Brzozowski, J. ACM 11(4), 1964; Owens, Reppy and Turon, J. Funct.
/// Program. 19(2), 2009.
class RegularSets {
 public:
  using Id = std::uint32_t;
  /// Parts of sets that are made, and derivatives.
  static constexpr std::size_t kMaxWork = std::size_t{1} << 21;

  RegularSets();

  /// No text.
  [[nodiscard]] Id none() const { return none_; }
  /// The empty text alone.
  [[nodiscard]] Id empty() const { return empty_; }
  /// Every text.
  [[nodiscard]] Id all() const { return all_; }
  /// The texts of one of these characters.
  Id characters(CharacterRanges ranges);
  /// One text alone.
  Id text(std::string_view utf8);
  Id sequence(Id first, Id second);
  Id either(std::vector<Id> sets);
  Id both(std::vector<Id> sets);
  Id all_but(Id set);
  /// @param most  kUnbounded: any number
  Id repeat(Id set, std::size_t least, std::size_t most);

  [[nodiscard]] bool has_empty(Id set) const { return node(set).has_empty; }
  /// Whether a text is in it.
  /// @throws Error as is_none()
  [[nodiscard]] bool has(Id set, std::string_view utf8);
  // Characters of its texts: none has fewer, or more.
  [[nodiscard]] std::size_t shortest(Id set) const { return node(set).shortest; }
  [[nodiscard]] std::size_t longest(Id set) const { return node(set).longest; }
  /// Whether there is no text in it.
  /// @throws Error kUnsupported if it takes more than kMaxWork to know, as choices() does
  [[nodiscard]] bool is_none(Id set);

  /// The texts of a set in a grammar. What has neither intersections nor complements is written as
  /// it was made, and others state by state.
  Choices choices(Id set, Grammar& grammar, const CharacterChoices& write);

 private:
  enum class Kind : std::uint8_t {
    kNone,
    kEmpty,
    kCharacters,
    kSequence,
    kEither,
    kBoth,
    kAllBut,
    kRepeat
  };
  struct Node {
    Kind kind = Kind::kNone;
    std::vector<Id> parts{};
    std::size_t least = 0;
    std::size_t most = 0;
    CharacterRanges ranges{};  ///< in order, apart from each other
    bool has_empty = false;
    std::size_t shortest = 0;
    std::size_t longest = 0;
    [[nodiscard]] auto key() const { return std::tie(kind, parts, least, most, ranges); }
    bool operator<(const Node& other) const { return key() < other.key(); }
  };
  /// What characters lead from a set to another one.
  struct Transition {
    Id target = 0;
    CharacterRanges ranges{};
  };
  /// Sets by character from a set on, those alone that have texts.
  using Automaton = std::map<Id, std::vector<Transition>>;

  [[nodiscard]] const Node& node(Id set) const { return *nodes_[set]; }
  Id add(Node node);
  void set_lengths(Node& node) const;
  /// Parts in order, each once, those of the same kind taken apart.
  [[nodiscard]] std::vector<Id> joined(Kind kind, const std::vector<Id>& sets) const;
  void count(std::size_t work);
  Id derivative(Id set, char32_t character);
  Id derived(Id set, char32_t character);
  Id derived_sequence(Id set, char32_t character);
  std::vector<Transition> transitions_from(Id set);
  Automaton automaton(Id set);
  Choices by_states(Id set, Grammar& grammar, const CharacterChoices& write);

  std::map<Node, Id> ids_;
  std::vector<const Node*> nodes_;  ///< by id
  std::map<std::pair<Id, char32_t>, Id> derivatives_;
  std::map<Id, bool> are_none_;
  /// Where ranges of characters begin that no set takes apart.
  std::set<char32_t> borders_{0};
  std::size_t work_ = 0;
  Id none_, empty_, all_;
};

}  // namespace halftone::lm
