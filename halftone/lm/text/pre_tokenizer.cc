// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/pre_tokenizer.h"

#include <algorithm>
#include <optional>

#include "halftone/lm/text/characters.h"
#include "halftone/lm/text/normalizer.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

/// A part of a piece. All together are the piece; some may be empty.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_match = false;  ///< a separator
};

/// Joins each separator, but none that stands behind another one, with the part before it.
void merge_with_previous(std::vector<Span>& spans) {
  std::vector<Span> merged;
  bool was_match = false;
  for (const Span& span : spans) {
    if (span.is_match && !was_match && !merged.empty()) {
      merged.back().end = span.end;
    } else {
      merged.push_back(span);
    }
    was_match = span.is_match;
  }
  spans = std::move(merged);
}

/// As merge_with_previous(), from the back.
void merge_with_next(std::vector<Span>& spans) {
  std::vector<Span> merged;
  bool was_match = false;
  for (std::size_t i = spans.size(); i-- > 0;) {
    if (spans[i].is_match && !was_match && !merged.empty()) {
      merged.back().begin = spans[i].begin;
    } else {
      merged.push_back(spans[i]);
    }
    was_match = spans[i].is_match;
  }
  spans.assign(merged.rbegin(), merged.rend());
}

void join_neighbours(std::vector<Span>& spans) {
  std::vector<Span> joined;
  bool was_match = false;
  for (const Span& span : spans) {
    if (span.is_match == was_match && !joined.empty()) {
      joined.back().end = span.end;
    } else {
      joined.push_back(span);
    }
    was_match = span.is_match;
  }
  spans = std::move(joined);
}

void arrange(std::vector<Span>& spans, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      std::erase_if(spans, [](const Span& span) { return span.is_match; });
      return;
    case SplitBehavior::kIsolated:
      return;
    case SplitBehavior::kMergedWithPrevious:
      return merge_with_previous(spans);
    case SplitBehavior::kMergedWithNext:
      return merge_with_next(spans);
    case SplitBehavior::kContiguous:
      return join_neighbours(spans);
  }
}

/// Splits every piece. @param find  (text, spans) appends the parts of a text
template <typename Find>
void split_pieces(Pieces& pieces, SplitBehavior behavior, Find find) {
  std::vector<Piece> result;
  std::vector<Span> spans;
  for (const Piece& piece : pieces.list) {
    spans.clear();
    find(piece.text, spans);
    arrange(spans, behavior);
    for (const Span& span : spans) {
      if (span.begin == span.end) continue;
      result.push_back({piece.text.substr(span.begin, span.end - span.begin),
                        piece.front - std::min(piece.front, span.begin)});
    }
  }
  pieces.list = std::move(result);
}

void find_matches(const Regex& pattern, std::string_view text, std::vector<Span>& spans) {
  std::size_t last = 0;
  pattern.for_each_match(text, [&](std::size_t begin, std::size_t end) {
    if (last != begin) spans.push_back({last, begin, false});
    spans.push_back({begin, end, true});
    last = end;
  });
  if (last != text.size()) spans.push_back({last, text.size(), false});
}

template <typename Condition>
void find_characters(std::string_view text, Condition is_separator, std::vector<Span>& spans) {
  std::size_t last = 0;
  std::size_t at = 0;
  for_each_character(text, [&](char32_t character, std::string_view bytes) {
    if (is_separator(character)) {
      if (last < at) spans.push_back({last, at, false});
      last = at + bytes.size();
      spans.push_back({at, last, true});
    }
    at += bytes.size();
  });
  if (last < at) spans.push_back({last, at, false});
}

enum class WordKind : std::uint8_t { kBetweenWords, kPartOfWord, kOther };

WordKind word_kind(char32_t character) {
  if (is_white_space(character)) return WordKind::kBetweenWords;
  return is_word_character(character) ? WordKind::kPartOfWord : WordKind::kOther;
}

/// Runs of characters of one kind; white space separates.
void find_words(std::string_view text, std::vector<Span>& spans) {
  std::optional<WordKind> last;
  std::size_t at = 0;
  for_each_character(text, [&](char32_t character, std::string_view bytes) {
    const WordKind kind = word_kind(character);
    if (kind != last) spans.push_back({at, at, kind == WordKind::kBetweenWords});
    last = kind;
    at += bytes.size();
    spans.back().end = at;
  });
}

}  // namespace

namespace pre_tokenizer_step {

PreTokenizerStep split(Regex pattern, SplitBehavior behavior, bool is_inverted) {
  return [pattern = std::move(pattern), behavior, is_inverted](Pieces& pieces) {
    split_pieces(pieces, behavior, [&](std::string_view text, std::vector<Span>& spans) {
      find_matches(pattern, text, spans);
      if (!is_inverted) return;
      for (Span& span : spans) span.is_match = !span.is_match;
    });
  };
}

PreTokenizerStep split_at(std::function<bool(char32_t)> is_separator, SplitBehavior behavior) {
  return [is_separator = std::move(is_separator), behavior](Pieces& pieces) {
    split_pieces(pieces, behavior, [&](std::string_view text, std::vector<Span>& spans) {
      find_characters(text, is_separator, spans);
    });
  };
}

PreTokenizerStep metaspace(std::string sign, PrependScheme scheme, bool splits) {
  return [sign = std::move(sign), scheme, splits](Pieces& pieces) {
    for (Piece& piece : pieces.list) {
      std::string text = replaced(piece.text, " ", sign);
      piece.front = replaced(piece.text.substr(0, piece.front), " ", sign).size();
      const bool prepends =
          scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && piece.front > 0);
      if (prepends && !text.starts_with(sign)) {
        text.insert(0, sign);
        if (piece.front > 0) piece.front += sign.size();
      }
      piece.text = pieces.own(std::move(text));
    }
    if (!splits) return;
    const char32_t separator = utf8_code_point(sign);
    split_pieces(pieces, SplitBehavior::kMergedWithNext,
                 [&](std::string_view text, std::vector<Span>& spans) {
                   find_characters(
                       text, [&](char32_t c) { return c == separator; }, spans);
                 });
  };
}

PreTokenizerStep add_space() {
  return [](Pieces& pieces) {
    for (Piece& piece : pieces.list) {
      if (piece.text.starts_with(' ')) continue;
      piece.text = pieces.own(" " + std::string(piece.text));
      if (piece.front > 0) ++piece.front;
    }
  };
}

PreTokenizerStep words() {
  return [](Pieces& pieces) { split_pieces(pieces, SplitBehavior::kRemoved, find_words); };
}

PreTokenizerStep fixed_length(std::size_t length) {
  return [length](Pieces& pieces) {
    split_pieces(pieces, SplitBehavior::kIsolated,
                 [&](std::string_view text, std::vector<Span>& spans) {
                   std::size_t count = 0;
                   std::size_t at = 0;
                   for_each_character(text, [&](char32_t, std::string_view bytes) {
                     if (count++ % length == 0) spans.push_back({at, at, false});
                     at += bytes.size();
                     spans.back().end = at;
                   });
                 });
  };
}

}  // namespace pre_tokenizer_step
}  // namespace halftone::lm
