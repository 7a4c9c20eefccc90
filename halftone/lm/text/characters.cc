// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

utf8proc_category_t category_of(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

utf8proc_option_t options_of(NormalForm form) {
  const bool composes = form == NormalForm::kC || form == NormalForm::kKC;
  const bool is_compatible = form == NormalForm::kKC || form == NormalForm::kKD;
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE |
                                        (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                        (is_compatible ? UTF8PROC_COMPAT : 0));
}

using Range = std::pair<char32_t, char32_t>;

template <std::size_t N>
bool is_in(char32_t character, const std::array<Range, N>& ranges) {
  return std::ranges::any_of(ranges, [&](const Range& range) {
    return character >= range.first && character <= range.second;
  });
}

}  // namespace

std::string in_normal_form(std::string_view text, NormalForm form) {
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &bytes, options_of(form));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(bytes, std::free);
  if (size < 0) fail(ErrorKind::kMemory, std::string("text: ") + utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::string in_lower_case(std::string_view text) {
  constexpr char32_t kCapitalIWithDot = 0x130;  // the only one that becomes two characters
  std::string result;
  for_each_character(text, [&](char32_t character, std::string_view) {
    result += to_utf8(
        static_cast<char32_t>(character == kCapitalIWithDot
                                  ? 'i'
                                  : utf8proc_tolower(static_cast<utf8proc_int32_t>(character))));
    if (character == kCapitalIWithDot) result += "\xCC\x87";
  });
  return result;
}

std::vector<std::string_view> grapheme_clusters(std::string_view text) {
  std::vector<std::string_view> clusters;
  utf8proc_int32_t state = 0;
  utf8proc_int32_t previous = 0;
  for_each_character(text, [&](char32_t character, std::string_view bytes) {
    const auto next = static_cast<utf8proc_int32_t>(character);
    if (clusters.empty() || utf8proc_grapheme_break_stateful(previous, next, &state)) {
      clusters.push_back(bytes);
    } else {
      clusters.back() = {clusters.back().data(), clusters.back().size() + bytes.size()};
    }
    previous = next;
  });
  return clusters;
}

bool is_white_space(char32_t character) {
  if (character < 0x80) return character == ' ' || (character >= '\t' && character <= '\r');
  const utf8proc_category_t category = category_of(character);
  return character == 0x85 || category == UTF8PROC_CATEGORY_ZS ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

bool is_letter(char32_t character) {
  const utf8proc_category_t category = category_of(character);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_mark(char32_t character) {
  const utf8proc_category_t category = category_of(character);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(char32_t character) {
  return category_of(character) == UTF8PROC_CATEGORY_MN;
}

bool is_number(char32_t character) {
  const utf8proc_category_t category = category_of(character);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t character) {
  if (character < 0x80) {
    return (character >= '!' && character <= '/') || (character >= ':' && character <= '@') ||
           (character >= '[' && character <= '`') || (character >= '{' && character <= '~');
  }
  const utf8proc_category_t category = category_of(character);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_control_or_other(char32_t character) {
  const utf8proc_category_t category = category_of(character);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

bool is_word_character(char32_t character) {
  constexpr std::array<Range, 5> kOthers = {{{0x200C, 0x200D},
                                             {0x24B6, 0x24E9},
                                             {0x1F130, 0x1F149},
                                             {0x1F150, 0x1F169},
                                             {0x1F170, 0x1F189}}};
  const utf8proc_category_t category = category_of(character);
  return is_letter(character) || is_mark(character) || category == UTF8PROC_CATEGORY_ND ||
         category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC ||
         is_in(character, kOthers);
}

bool is_chinese(char32_t character) {
  // The block from U+2B820 on begins at U+2B920 in the package tokenizers and in llama.cpp.
  constexpr std::array<Range, 8> kBlocks = {{{0x4E00, 0x9FFF},
                                             {0x3400, 0x4DBF},
                                             {0x20000, 0x2A6DF},
                                             {0x2A700, 0x2B73F},
                                             {0x2B740, 0x2B81F},
                                             {0x2B920, 0x2CEAF},
                                             {0xF900, 0xFAFF},
                                             {0x2F800, 0x2FA1F}}};
  return is_in(character, kBlocks);
}

}  // namespace halftone::lm
