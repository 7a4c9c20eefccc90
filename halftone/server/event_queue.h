// SPDX-License-Identifier: Apache-2.0
// What the thread of the model tells the thread of a connection.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/lm/serve/scheduler.h"

namespace halftone::server {

struct TokenLogprob {
  lm::TokenId token = lm::kNoToken;
  double logprob = 0;
};

/// A token of a choice with its alternatives.
struct ScoredToken {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  ///< the most probable first
};

/// More text of a choice, or its end.
struct ChoiceEvent {
  std::size_t choice = 0;
  std::string text{};
  std::optional<ScoredToken> token{};       ///< if probabilities are wanted
  std::optional<lm::ServeResult> result{};  ///< the last event of the choice
};

/// Events in their order. One thread puts, one takes.
class EventQueue {
 public:
  void put(ChoiceEvent event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    changed_.notify_one();
  }
  /// @return nullopt if none comes in time
  std::optional<ChoiceEvent> take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return !events_.empty(); })) return std::nullopt;
    ChoiceEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ChoiceEvent> events_;
};

}  // namespace halftone::server
