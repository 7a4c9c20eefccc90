// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/regular_sets.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

std::size_t sum(std::size_t a, std::size_t b) {
  return a == kUnbounded || b > kUnbounded - a ? kUnbounded : a + b;
}

std::size_t product(std::size_t a, std::size_t b) {
  return a != 0 && b > kUnbounded / a ? kUnbounded : a * b;
}

}  // namespace

RegularSets::RegularSets()
    : none_(add({Kind::kNone})),
      empty_(add({.kind = Kind::kEmpty, .has_empty = true})),
      all_(repeat(characters({{0, kLastCharacter}}), 0, kUnbounded)) {}

void RegularSets::count(std::size_t work) {
  work_ += work;
  if (work_ <= kMaxWork) return;
  fail(ErrorKind::kUnsupported,
       "a pattern whose texts have too many states (" + std::to_string(kMaxWork) +
           " steps did not find them all) is not supported; repeat less often");
}

void RegularSets::set_lengths(Node& node) const {
  const auto parts_of = [&](std::size_t Node::*length) {
    std::vector<std::size_t> lengths;
    for (const Id each : node.parts) lengths.push_back(this->node(each).*length);
    return lengths;
  };
  const std::vector<std::size_t> shortest = parts_of(&Node::shortest);
  const std::vector<std::size_t> longest = parts_of(&Node::longest);
  switch (node.kind) {
    case Kind::kNone:
    case Kind::kEmpty:
      break;
    case Kind::kCharacters:
      node.shortest = node.longest = 1;
      break;
    case Kind::kSequence:
      node.shortest = sum(shortest[0], shortest[1]);
      node.longest = sum(longest[0], longest[1]);
      break;
    case Kind::kEither:
      node.shortest = std::ranges::min(shortest);
      node.longest = std::ranges::max(longest);
      break;
    case Kind::kBoth:
      node.shortest = std::ranges::max(shortest);
      node.longest = std::ranges::min(longest);
      break;
    case Kind::kAllBut:
      node.longest = kUnbounded;
      break;
    case Kind::kRepeat:
      node.shortest = product(shortest[0], node.least);
      node.longest = product(longest[0], node.most);
  }
}

RegularSets::Id RegularSets::add(Node node) {
  set_lengths(node);
  const auto [found, is_new] = ids_.try_emplace(std::move(node), static_cast<Id>(nodes_.size()));
  if (is_new) {
    nodes_.push_back(&found->first);
    count(1 + found->first.parts.size() + found->first.ranges.size());
  }
  return found->second;
}

RegularSets::Id RegularSets::characters(CharacterRanges ranges) {
  ranges = lm::all_but(lm::all_but(std::move(ranges)));  // in order, apart from each other
  if (ranges.empty()) return none_;
  for (const auto& [first, last] : ranges) {
    borders_.insert(first);
    if (last < kLastCharacter) borders_.insert(last + 1);
  }
  return add({.kind = Kind::kCharacters, .ranges = std::move(ranges)});
}

RegularSets::Id RegularSets::text(std::string_view utf8) {
  std::vector<char32_t> signs;
  for_each_character(utf8,
                     [&](char32_t character, std::string_view) { signs.push_back(character); });
  Id all = empty_;
  for (auto each = signs.rbegin(); each != signs.rend(); ++each) {
    all = sequence(characters({{*each, *each}}), all);
  }
  return all;
}

RegularSets::Id RegularSets::sequence(Id first, Id second) {
  if (first == none_ || second == none_) return none_;
  // A list of sets, so that equal ones are found however they were put together.
  std::vector<Id> fronts;
  for (; node(first).kind == Kind::kSequence; first = node(first).parts[1]) {
    fronts.push_back(node(first).parts[0]);
  }
  fronts.push_back(first);
  Id all = second;
  for (auto front = fronts.rbegin(); front != fronts.rend(); ++front) {
    if (*front == empty_) continue;
    all = all == empty_ ? *front
                        : add({.kind = Kind::kSequence,
                               .parts = {*front, all},
                               .has_empty = has_empty(*front) && has_empty(all)});
  }
  return all;
}

std::vector<RegularSets::Id> RegularSets::joined(Kind kind, const std::vector<Id>& sets) const {
  std::vector<Id> all;
  for (const Id each : sets) {
    if (node(each).kind == kind) {
      std::ranges::copy(node(each).parts, std::back_inserter(all));
    } else {
      all.push_back(each);
    }
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

RegularSets::Id RegularSets::either(std::vector<Id> sets) {
  sets = joined(Kind::kEither, sets);
  std::erase(sets, none_);
  if (std::ranges::count(sets, all_) > 0) return all_;
  const auto are_characters = [&](Id each) { return node(each).kind == Kind::kCharacters; };
  if (std::ranges::count_if(sets, are_characters) > 1) {
    CharacterRanges ranges;
    for (const Id each : sets) {
      if (are_characters(each)) std::ranges::copy(node(each).ranges, std::back_inserter(ranges));
    }
    std::erase_if(sets, are_characters);
    sets.push_back(characters(std::move(ranges)));
    sets = joined(Kind::kEither, sets);
  }
  if (sets.empty()) return none_;
  if (sets.size() == 1) return sets[0];
  const bool is_empty_in = std::ranges::any_of(sets, [&](Id each) { return has_empty(each); });
  return add({.kind = Kind::kEither, .parts = std::move(sets), .has_empty = is_empty_in});
}

RegularSets::Id RegularSets::both(std::vector<Id> sets) {
  sets = joined(Kind::kBoth, sets);
  std::erase(sets, all_);
  if (sets.empty()) return all_;
  if (sets.size() == 1) return sets[0];
  const bool is_empty_in = std::ranges::all_of(sets, [&](Id each) { return has_empty(each); });
  if (std::ranges::count(sets, empty_) > 0) return is_empty_in ? empty_ : none_;
  if (std::ranges::count(sets, none_) > 0) return none_;
  return add({.kind = Kind::kBoth, .parts = std::move(sets), .has_empty = is_empty_in});
}

RegularSets::Id RegularSets::all_but(Id set) {
  if (set == none_) return all_;
  if (set == all_) return none_;
  if (node(set).kind == Kind::kAllBut) return node(set).parts[0];
  return add({.kind = Kind::kAllBut, .parts = {set}, .has_empty = !has_empty(set)});
}

RegularSets::Id RegularSets::repeat(Id set, std::size_t least, std::size_t most) {
  if (has_empty(set)) least = 0;
  if (most == 0 || set == empty_ || (set == none_ && least == 0)) return empty_;
  if (set == none_ || (least == 1 && most == 1)) return set;
  const bool is_any_number = least == 0 && most == kUnbounded;
  const Node& inner = node(set);
  if (is_any_number && inner.kind == Kind::kRepeat && inner.least == 0 && inner.most == most) {
    return set;
  }
  return add({.kind = Kind::kRepeat,
              .parts = {set},
              .least = least,
              .most = most,
              .has_empty = least == 0});
}

RegularSets::Id RegularSets::derivative(Id set, char32_t character) {
  const auto found = derivatives_.find({set, character});
  if (found != derivatives_.end()) return found->second;
  count(1);
  const Id behind = derived(set, character);
  derivatives_.emplace(std::pair(set, character), behind);
  return behind;
}

RegularSets::Id RegularSets::derived(Id set, char32_t character) {
  const Node& from = node(set);
  const auto of_parts = [&] {
    std::vector<Id> all;
    for (const Id each : from.parts) all.push_back(derivative(each, character));
    return all;
  };
  switch (from.kind) {
    case Kind::kNone:
    case Kind::kEmpty:
      return none_;
    case Kind::kCharacters: {
      const bool is_in = std::ranges::any_of(from.ranges, [&](const CharacterRange& each) {
        return each.first <= character && character <= each.last;
      });
      return is_in ? empty_ : none_;
    }
    case Kind::kSequence:
      return derived_sequence(set, character);
    case Kind::kEither:
      return either(of_parts());
    case Kind::kBoth:
      return both(of_parts());
    case Kind::kAllBut:
      return all_but(derivative(from.parts[0], character));
    case Kind::kRepeat:
      break;
  }
  const Id once = derivative(from.parts[0], character);
  if (once == none_) return none_;
  return sequence(once, repeat(from.parts[0], std::max<std::size_t>(from.least, 1) - 1,
                               from.most == kUnbounded ? kUnbounded : from.most - 1));
}

RegularSets::Id RegularSets::derived_sequence(Id set, char32_t character) {
  std::vector<Id> ways;
  bool goes_on = true;
  while (goes_on && node(set).kind == Kind::kSequence) {
    const Node& from = node(set);
    ways.push_back(sequence(derivative(from.parts[0], character), from.parts[1]));
    goes_on = has_empty(from.parts[0]);
    set = from.parts[1];
  }
  if (goes_on) ways.push_back(derivative(set, character));
  return either(std::move(ways));
}

std::vector<RegularSets::Transition> RegularSets::transitions_from(Id set) {
  std::vector<Transition> transitions;
  std::map<Id, std::size_t> places;
  for (auto border = borders_.begin(); border != borders_.end(); ++border) {
    const Id target = derivative(set, *border);
    if (target == none_) continue;
    const auto [place, is_new] = places.try_emplace(target, transitions.size());
    if (is_new) transitions.push_back({target});
    const auto next = std::next(border);
    const char32_t last = next == borders_.end() ? kLastCharacter : *next - 1;
    CharacterRanges& ranges = transitions[place->second].ranges;
    if (!ranges.empty() && ranges.back().last + 1 == *border) {
      ranges.back().last = last;
    } else {
      ranges.push_back({*border, last});
    }
  }
  return transitions;
}

RegularSets::Automaton RegularSets::automaton(Id set) {
  Automaton states;
  std::map<Id, std::vector<Id>> sources;
  std::vector<Id> todo{set};
  states[set];
  while (!todo.empty()) {
    const Id state = todo.back();
    todo.pop_back();
    states[state] = transitions_from(state);
    for (const Transition& each : states[state]) {
      sources[each.target].push_back(state);
      if (states.try_emplace(each.target).second) todo.push_back(each.target);
    }
  }
  std::set<Id> live;
  for (const auto& [state, transitions] : states) {
    if (has_empty(state)) todo.push_back(state);
  }
  while (!todo.empty()) {
    const Id state = todo.back();
    todo.pop_back();
    if (live.insert(state).second) std::ranges::copy(sources[state], std::back_inserter(todo));
  }
  std::erase_if(states, [&](const auto& each) { return !live.contains(each.first); });
  for (auto& [state, transitions] : states) {
    std::erase_if(transitions, [&](const Transition& each) { return !live.contains(each.target); });
  }
  return states;
}

bool RegularSets::has(Id set, std::string_view utf8) {
  for_each_character(utf8, [&](char32_t character, std::string_view) {
    set = derivative(set, *std::prev(borders_.upper_bound(character)));
  });
  return has_empty(set);
}

bool RegularSets::is_none(Id set) {
  const auto found = are_none_.find(set);
  if (found != are_none_.end()) return found->second;
  return are_none_.emplace(set, !automaton(set).contains(set)).first->second;
}

Choices RegularSets::choices(Id set, Grammar& grammar, const CharacterChoices& write) {
  std::vector<Choices> parts;
  for (; node(set).kind == Kind::kSequence; set = node(set).parts[1]) {
    parts.push_back(choices(node(set).parts[0], grammar, write));
  }
  const Node& last = node(set);
  switch (last.kind) {
    case Kind::kNone:
      return {};
    case Kind::kEmpty:
      parts.push_back({{}});
      break;
    case Kind::kCharacters:
      parts.push_back(write(last.ranges));
      break;
    case Kind::kEither: {
      std::vector<Choices> all;
      for (const Id each : last.parts) all.push_back(choices(each, grammar, write));
      parts.push_back(Grammar::either(std::move(all)));
      break;
    }
    case Kind::kRepeat:
      parts.push_back(
          grammar.repeat(choices(last.parts[0], grammar, write), last.least, last.most));
      break;
    case Kind::kBoth:
    case Kind::kAllBut:
    case Kind::kSequence:  // never the last one
      parts.push_back(by_states(set, grammar, write));
  }
  return parts.size() == 1 ? std::move(parts[0]) : grammar.sequence(std::move(parts));
}

Choices RegularSets::by_states(Id set, Grammar& grammar, const CharacterChoices& write) {
  const Automaton states = automaton(set);
  if (!states.contains(set)) return {};
  std::map<Id, Symbol> rules;
  for (const auto& [state, unused] : states) rules.emplace(state, grammar.declare(""));
  std::map<CharacterRanges, Choices> written;
  for (const auto& [state, transitions] : states) {
    std::vector<Choices> ways;
    if (has_empty(state)) ways.push_back({{}});
    for (const Transition& each : transitions) {
      const auto [one, is_new] = written.try_emplace(each.ranges);
      if (is_new) one->second = grammar.shared(write(each.ranges));
      ways.push_back(grammar.sequence({one->second, {{rules.at(each.target)}}}));
    }
    grammar.define(rules.at(state), Grammar::either(std::move(ways)));
  }
  return {{rules.at(set)}};
}

}  // namespace halftone::lm
