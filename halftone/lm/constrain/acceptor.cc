// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/acceptor.h"

#include <algorithm>
#include <set>
#include <string>

#include "halftone/base/error.h"

namespace halftone::lm {

Acceptor::Acceptor(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)) {
  lay_out();
  clear();
}

void Acceptor::lay_out() {
  for (const Grammar::Rule& rule : grammar_->rules()) {
    auto& starts = choices_.emplace_back();
    for (const Sequence& choice : rule.choices) {
      starts.push_back(static_cast<std::uint32_t>(items_.size()));
      for (const Symbol& symbol : choice) {
        const bool is_rule = symbol.kind == Symbol::Kind::kRule;
        items_.push_back({is_rule ? Item::Kind::kRule : Item::Kind::kBytes, symbol.index});
      }
      items_.push_back({});
    }
  }
}

void Acceptor::clear() {
  bytes_ = 0;
  stacks_.assign(1, {0, 0});  // the empty one
  numbers_of_stacks_.clear();
  states_.clear();
  numbers_of_states_.clear();
  state_of({});  // kNowhere
  std::vector<Place> places;
  for (const std::uint32_t item : choices_[grammar_->root().index]) places.emplace_back(item, 0);
  start_ = state_of(reachable(std::move(places)));
}

Acceptor::Stack Acceptor::stack_of(const Place& place) {
  const auto [found, is_new] =
      numbers_of_stacks_.try_emplace(place, static_cast<Stack>(stacks_.size()));
  if (is_new) {
    stacks_.push_back(place);
    bytes_ += sizeof(Place) + sizeof(*found) + 4 * sizeof(void*);
  }
  return found->second;
}

/// What follows the rule is on the stack while it is read, unless nothing follows: rules that end
/// with themselves do not grow.
void Acceptor::enter_rule(const Place& place, std::vector<Place>& places) {
  const auto [item, below] = place;
  const bool is_last = items_[item + 1].kind == Item::Kind::kEnd;
  const Stack stack = is_last ? below : stack_of({item + 1, below});
  for (const std::uint32_t first : choices_[items_[item].index]) places.emplace_back(first, stack);
}

std::vector<Acceptor::Stack> Acceptor::reachable(std::vector<Place> places) {
  std::set<Place> seen(places.begin(), places.end());
  std::set<Stack> stacks;
  const auto add_new = [&](std::vector<Place>& all, std::size_t first) {
    all.erase(std::remove_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                             [&](const Place& each) { return !seen.insert(each).second; }),
              all.end());
  };
  while (!places.empty()) {
    const Place place = places.back();
    const auto [item, below] = place;
    places.pop_back();
    const std::size_t count = places.size();
    switch (items_[item].kind) {
      case Item::Kind::kBytes:
        stacks.insert(stack_of(place));
        break;
      case Item::Kind::kRule:
        enter_rule(place, places);
        break;
      case Item::Kind::kEnd:
        if (below == 0) stacks.insert(0);
        if (below != 0) places.push_back(stacks_[below]);
        break;
    }
    add_new(places, count);
    if (seen.size() > kMaxStacks || ++work_ > kMaxWork) {
      fail(ErrorKind::kUsage, "grammar: expected at most " + std::to_string(kMaxStacks) +
                                  " ways to read a text, found more; make it less ambiguous");
    }
  }
  return {stacks.begin(), stacks.end()};
}

Acceptor::State Acceptor::state_of(std::vector<Stack> stacks) {
  const auto found = numbers_of_states_.find(stacks);
  if (found != numbers_of_states_.end()) return found->second;
  const auto number = static_cast<State>(states_.size());
  StateInfo info;
  info.may_end = !stacks.empty() && stacks.front() == 0;
  info.next.fill(kUnknown);
  info.stacks = stacks;
  bytes_ += sizeof(StateInfo) + 2 * stacks.size() * sizeof(Stack) + 8 * sizeof(void*);
  states_.push_back(std::move(info));
  numbers_of_states_.emplace(std::move(stacks), number);
  return number;
}

Acceptor::State Acceptor::after(State state, std::uint8_t byte) {
  if (states_[state].next[byte] != kUnknown) return states_[state].next[byte];
  std::vector<Place> places;
  for (const Stack stack : states_[state].stacks) {
    if (stack == 0) continue;
    const auto [item, below] = stacks_[stack];
    if (grammar_->sets()[items_[item].index].test(byte)) places.emplace_back(item + 1, below);
  }
  const State next = state_of(reachable(std::move(places)));
  states_[state].next[byte] = next;
  return next;
}

Acceptor::State Acceptor::forget_but(State state) {
  const std::vector<Place> old = stacks_;
  const std::vector<Stack> kept = states_[state].stacks;
  clear();
  // Stacks are numbered from the bottom up, so that each is above what it stands on.
  std::vector<bool> is_needed(old.size(), false);
  for (const Stack stack : kept) is_needed[stack] = true;
  for (std::size_t i = old.size(); i-- > 1;) {
    if (is_needed[i]) is_needed[old[i].second] = true;
  }
  std::vector<Stack> numbers(old.size(), 0);
  for (std::size_t i = 1; i < old.size(); ++i) {
    if (is_needed[i]) numbers[i] = stack_of({old[i].first, numbers[old[i].second]});
  }
  std::vector<Stack> stacks;
  for (const Stack stack : kept) stacks.push_back(numbers[stack]);
  std::ranges::sort(stacks);
  return state_of(std::move(stacks));
}

}  // namespace halftone::lm
