// SPDX-License-Identifier: Apache-2.0
// Tokens that are found in texts before these are split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/text/text_index.h"
#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

struct AddedToken {
  TokenId id = kNoToken;
  std::string text;  ///< UTF-8; others are never found
  bool is_control = false;
  bool is_single_word = false;  ///< not beside a character of words
  bool strips_left = false;     ///< takes the white space in front of it
  bool strips_right = false;    ///< and behind it
};

/// Any number of threads may use it.
class AddedTokens {
 public:
  /// Which of those that overlap is found.
  enum class Order : std::uint8_t {
    kFirst,    ///< that which begins first, of these the longest: as the package tokenizers
    kLongest,  ///< the longest, of these that which begins first: as llama.cpp
  };
  struct Found {
    std::size_t begin = 0;
    std::size_t end = 0;
    const AddedToken* token = nullptr;
  };
  /// Whether a token may be found from begin to end.
  using Condition = std::function<bool(const AddedToken&, std::size_t begin, std::size_t end)>;

  AddedTokens() = default;
  AddedTokens(std::vector<AddedToken> tokens, Order order);

  [[nodiscard]] bool empty() const { return index_.empty(); }
  /// Those in a text, in their order, with the white space that they take.
  /// @param allows  empty: all may be found
  [[nodiscard]] std::vector<Found> find(std::string_view text, const Condition& allows) const;

 private:
  [[nodiscard]] std::vector<Found> first_ones(std::string_view text, const Condition& allows) const;
  [[nodiscard]] std::vector<Found> longest_ones(std::string_view text,
                                                const Condition& allows) const;

  std::vector<AddedToken> tokens_;
  TextIndex index_;
  Order order_ = Order::kFirst;
};

}  // namespace halftone::lm
