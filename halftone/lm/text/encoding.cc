// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/encoding.h"

#include <algorithm>

#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

/// Whether a token of a text has another meaning than its words in any text.
bool looks_like_mark(std::string_view text) {
  return text.starts_with("<|") || text.ends_with("|>");
}

/// White space, or the signs that represent it.
bool is_blank(std::string_view text) {
  bool result = true;
  for_each_character(text, [&](char32_t character, std::string_view bytes) {
    result = result && (is_white_space(character) || bytes == kSpaceSign);
  });
  return result;
}

class Encoding {
 public:
  Encoding(const Tokenizer::State& state, std::string_view text, const EncodeOptions& options,
           std::vector<TokenId>& tokens)
      : state_(state), text_(text), options_(options), tokens_(tokens) {
    const bool has_controls = options.control && options.trusted == nullptr;
    if (has_controls) return;
    allows_ = AllowedTokens(&state.is_control);
    if (options.trusted == nullptr) return;
    forbidden_ = state.is_control;
    forbid_marks();
    allows_ = AllowedTokens(&forbidden_);
  }

  void run() {
    const auto allows = [&](const AddedToken& token, std::size_t begin, std::size_t end) {
      return is_allowed(token, begin, end);
    };
    std::size_t last = 0;
    for (const AddedTokens::Found& found : state_.added.find(text_, allows)) {
      append_segment(last, found.begin);
      tokens_.push_back(found.token->id);
      last = found.end;
    }
    append_segment(last, text_.size());
  }

 private:
  [[nodiscard]] bool is_trusted(std::size_t begin, std::size_t end) const {
    if (options_.trusted == nullptr) return true;
    const auto first = options_.trusted->begin();
    return std::find(first + static_cast<std::ptrdiff_t>(begin),
                     first + static_cast<std::ptrdiff_t>(end),
                     false) == first + static_cast<std::ptrdiff_t>(end);
  }

  /// @param begin, end  in the whole text
  [[nodiscard]] bool is_allowed(const AddedToken& token, std::size_t begin, std::size_t end) const {
    if (token.is_control && !options_.control) return false;
    const bool is_mark = !allows_(token.id) || looks_like_mark(token.text);
    return !is_mark || is_trusted(begin, end);
  }

  /// Forbids what occurs in the trusted parts as words of the others.
  void forbid_marks() {
    const auto trusted = [&](const AddedToken&, std::size_t begin, std::size_t end) {
      return is_trusted(begin, end);
    };
    for (const AddedTokens::Found& found : state_.added.find(text_, trusted)) forbid(*found.token);
    if (state_.added_to_normal.empty()) return;
    for (std::size_t begin = 0; begin < text_.size();) {
      std::size_t end = begin;
      while (end < text_.size() && (*options_.trusted)[end]) ++end;
      const std::string normal = normal_text(begin, end).text;
      for (const auto& found : state_.added_to_normal.find(normal, {})) forbid(*found.token);
      begin = end + 1;
    }
  }
  void forbid(const AddedToken& token) {
    if (!is_blank(token.text)) forbidden_[static_cast<std::size_t>(token.id)] = true;
  }

  [[nodiscard]] NormalText normal_text(std::size_t begin, std::size_t end) const {
    NormalText normal{std::string(text_.substr(begin, end - begin)),
                      begin == 0 ? utf8_length(text_) : 0};
    if (!normal.text.empty()) state_.normalizer.apply(normal);
    return normal;
  }

  /// The bytes of the shortest beginning of a segment whose normal text has `size` bytes or more.
  [[nodiscard]] std::size_t origin(std::size_t begin, std::size_t end, std::size_t size) const {
    if (state_.normalizer.empty()) return begin + size;
    std::size_t low = begin;
    std::size_t high = end;
    while (low < high) {
      std::size_t middle = low + (high - low) / 2;
      while (middle > low && (static_cast<unsigned char>(text_[middle]) & 0xC0) == 0x80) --middle;
      if (normal_text(begin, middle).text.size() >= size) {
        high = middle;
      } else {
        low = middle + std::max(utf8_length(text_.substr(middle)), std::size_t{1});
      }
    }
    return high;
  }

  /// Appends the tokens of a part without those that are found before it is normal.
  void append_segment(std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    const NormalText normal = normal_text(begin, end);
    const auto allows = [&](const AddedToken& token, std::size_t first, std::size_t last) {
      if (options_.trusted == nullptr) return is_allowed(token, 0, 0);
      const std::size_t behind_first = origin(begin, end, first + 1);
      return is_allowed(token, std::max(behind_first, begin + 1) - 1, origin(begin, end, last));
    };
    const std::string_view text = normal.text;
    std::size_t last = 0;
    for (const AddedTokens::Found& found : state_.added_to_normal.find(text, allows)) {
      if (last < found.begin) {
        append_words(text.substr(last, found.begin - last),
                     normal.front - std::min(normal.front, last));
      }
      tokens_.push_back(found.token->id);
      last = found.end;
    }
    if (last < text.size())
      append_words(text.substr(last), normal.front - std::min(normal.front, last));
  }

  /// @param front  as that of a piece
  void append_words(std::string_view text, std::size_t front) {
    Pieces pieces(Piece{text, std::min(front, text.size())});
    state_.pre_tokenizer.apply(pieces);
    for (const Piece& piece : pieces.list) state_.model->encode(piece.text, allows_, tokens_);
  }

  const Tokenizer::State& state_;
  std::string_view text_;
  const EncodeOptions& options_;
  std::vector<TokenId>& tokens_;
  std::vector<bool> forbidden_{};  ///< by id
  AllowedTokens allows_{};
};

}  // namespace

void append_tokens(const Tokenizer::State& state, std::string_view text,
                   const EncodeOptions& options, std::vector<TokenId>& tokens) {
  Encoding(state, text, options, tokens).run();
}

}  // namespace halftone::lm
