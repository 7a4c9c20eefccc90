// SPDX-License-Identifier: Apache-2.0
// Which text has which sequence of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halftone/lm/generate/token_model.h"

namespace halftone::lm {

/// The sequences of a model, lent to texts. A sequence that is given back keeps its tokens until
/// another text needs it: texts that begin alike begin with what was computed before.
class CacheSlots {
 public:
  /// @param model  must outlive this
  explicit CacheSlots(TokenModel& model);

  struct Slot {
    std::size_t sequence = 0;
    std::size_t reused = 0;  ///< tokens of the text that it has already
  };
  /// Lends a sequence whose tokens are the longest front of a text that any sequence has, free or
  /// not: the one that has it if that wastes less than half of it, else a copy in the sequence that
  /// was free for the longest time.
  /// @param text  not empty; its last token is never reused
  /// @return      nullopt if all are lent
  std::optional<Slot> take(std::span<const TokenId> text);
  void give_back(std::size_t sequence);

  [[nodiscard]] bool has_free() const;
  /// Tokens of a text that take() would reuse.
  [[nodiscard]] std::size_t longest_front(std::span<const TokenId> text) const;
  /// Whether sequences may have fronts of sequences that are lent.
  [[nodiscard]] bool copies() const { return copies_; }

 private:
  /// Tokens of a sequence that a text can begin with.
  [[nodiscard]] std::size_t front(std::size_t sequence, std::span<const TokenId> text) const;
  /// The free sequence that was used least recently, but not `other` unless it is the only one.
  [[nodiscard]] std::size_t oldest_free(std::size_t other) const;

  struct Use {
    bool is_lent = false;
    std::uint64_t last = 0;  ///< a count of loans
  };
  TokenModel& model_;
  std::vector<Use> uses_;  ///< by sequence
  std::uint64_t loans_ = 0;
  bool copies_;
};

}  // namespace halftone::lm
