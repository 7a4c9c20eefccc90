// SPDX-License-Identifier: Apache-2.0
// Splits texts into words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/lm/text/regex.h"

namespace halftone::lm {

/// A part of a text. None is empty.
struct Piece {
  std::string_view text;
  /// Bytes in front that are, or came from, the first character of the whole text; 0 if none.
  std::size_t front = 0;
};

/// The pieces of a text, and the texts that steps have made.
class Pieces {
 public:
  explicit Pieces(Piece whole) : list{whole} {}
  /// A text that lives as long as this.
  std::string_view own(std::string text) { return texts_.emplace_back(std::move(text)); }

  std::vector<Piece> list;

 private:
  std::deque<std::string> texts_;
};

/// What becomes of the separators that split a text.
enum class SplitBehavior : std::uint8_t {
  kRemoved,
  kIsolated,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,  ///< those side by side become one piece
};

/// The step of a pre-tokenizer. Source of their names and meaning: the package tokenizers.
using PreTokenizerStep = std::function<void(Pieces&)>;

/// Steps one after another. Any number of threads may use it.
class PreTokenizer {
 public:
  void add(PreTokenizerStep step) { steps_.push_back(std::move(step)); }
  void apply(Pieces& pieces) const {
    for (const PreTokenizerStep& step : steps_) step(pieces);
  }

 private:
  std::vector<PreTokenizerStep> steps_;
};

enum class PrependScheme : std::uint8_t { kNever, kFirst, kAlways };

namespace pre_tokenizer_step {

/// @param is_inverted  what lies between the matches separates
PreTokenizerStep split(Regex pattern, SplitBehavior behavior, bool is_inverted = false);
/// Every character that meets a condition separates.
PreTokenizerStep split_at(std::function<bool(char32_t)> is_separator, SplitBehavior behavior);
/// @param sign  represents a space
PreTokenizerStep metaspace(std::string sign, PrependScheme scheme, bool splits);
/// A space in front of pieces without one.
PreTokenizerStep add_space();
/// Words, and what is neither word nor white space.
PreTokenizerStep words();
/// @param length  characters of a piece. @pre it is not 0
PreTokenizerStep fixed_length(std::size_t length);

}  // namespace pre_tokenizer_step
}  // namespace halftone::lm
