// SPDX-License-Identifier: Apache-2.0
// Reads a text byte by byte and knows what may follow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "halftone/lm/constrain/grammar.h"

namespace halftone::lm {

/// The places in a grammar where the bytes read so far can lead. A place is a stack: the symbol to
/// read, and where to go on behind the rule that it is in. Equal sets of places are one state with
/// a number, whose successors are remembered: texts of one kind take a few states again and again.
/// One thread at a time uses it.
class Acceptor {
 public:
  using State = std::uint32_t;
  /// No text goes on here.
  static constexpr State kNowhere = 0;
  /// Stacks of a state; more are an ambiguity that no one means.
  static constexpr std::size_t kMaxStacks = 10'000;
  /// Places that new states between two calls of allow_work() may lead through.
  static constexpr std::size_t kMaxWork = 5'000'000;
  /// Bytes that states take, after which forget_but() is due.
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  /// @param grammar  with a root; shared by the acceptors of several texts
  /// @throws Error   as after()
  explicit Acceptor(std::shared_ptr<const Grammar> grammar);

  [[nodiscard]] State start() const { return start_; }
  /// The state behind one more byte.
  /// @throws Error kUsage if there are more than kMaxStacks, or kMaxWork is over
  State after(State state, std::uint8_t byte);
  /// Whether the text may end here.
  [[nodiscard]] bool may_end(State state) const { return states_[state].may_end; }
  /// Whether it must: no byte may follow.
  [[nodiscard]] bool must_end(State state) const {
    return states_[state].may_end && states_[state].stacks.size() == 1;
  }

  /// To be called before each token, so that none takes for ever.
  void allow_work() { work_ = 0; }
  [[nodiscard]] bool is_full() const { return bytes_ > kMaxBytes; }
  /// Forgets all states but one and the start. @return  its new number
  State forget_but(State state);

 private:
  /// A symbol to read, and the stack below: 0 is the empty one, where the text may end.
  using Stack = std::uint32_t;
  using Place = std::pair<std::uint32_t, Stack>;
  static constexpr State kUnknown = ~State{0};

  struct StateInfo {
    std::vector<Stack> stacks;  ///< ascending
    std::array<State, 256> next;
    bool may_end = false;
  };

  void lay_out();
  void clear();
  Stack stack_of(const Place& place);
  [[nodiscard]] std::vector<Stack> reachable(std::vector<Place> places);
  void enter_rule(const Place& place, std::vector<Place>& places);
  State state_of(std::vector<Stack> stacks);

  std::shared_ptr<const Grammar> grammar_;
  /// The symbols of all choices one after another, each with a kEnd behind it.
  struct Item {
    enum class Kind : std::uint8_t { kBytes, kRule, kEnd };
    Kind kind = Kind::kEnd;
    std::uint32_t index = 0;
  };
  std::vector<Item> items_;
  std::vector<std::vector<std::uint32_t>> choices_;  ///< first items, by rule

  std::vector<Place> stacks_;
  std::map<Place, Stack> numbers_of_stacks_;
  std::vector<StateInfo> states_;
  std::map<std::vector<Stack>, State> numbers_of_states_;
  State start_ = kNowhere;
  std::size_t bytes_ = 0;
  std::size_t work_ = 0;
};

}  // namespace halftone::lm
