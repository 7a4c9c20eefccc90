// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/normalizer.h"

#include <algorithm>

#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

/// Rewrites a text character by character. @param write  (character, bytes, result) appends what
///        becomes of one
template <typename Write>
void rewrite(NormalText& text, Write write) {
  std::string result;
  result.reserve(text.text.size());
  std::size_t at = 0;
  std::size_t front = 0;
  for_each_character(text.text, [&](char32_t character, std::string_view bytes) {
    write(character, bytes, result);
    at += bytes.size();
    if (at <= text.front) front = result.size();
  });
  text.text = std::move(result);
  text.front = front;
}

/// The bytes of as many characters of a text as another one has.
std::size_t bytes_of_characters(std::string_view text, std::string_view other) {
  std::size_t count = 0;
  std::size_t size = 0;
  for_each_character(other, [&](char32_t, std::string_view) { ++count; });
  for_each_character(text, [&](char32_t, std::string_view bytes) {
    if (count == 0) return;
    size += bytes.size();
    --count;
  });
  return size;
}

void to_normal_form(NormalText& text, NormalForm form) {
  const std::string front = in_normal_form(text.text.substr(0, text.front), form);
  text.text = in_normal_form(text.text, form);
  text.front = bytes_of_characters(text.text, front);
}

void to_lower_case(NormalText& text) {
  text.front = in_lower_case(std::string_view(text.text).substr(0, text.front)).size();
  text.text = in_lower_case(text.text);
}

/// Drops the characters that meet a condition.
template <typename Condition>
void drop_if(NormalText& text, Condition condition) {
  rewrite(text, [&](char32_t character, std::string_view bytes, std::string& result) {
    if (!condition(character)) result += bytes;
  });
}

/// Of BERT: tabs and ends of lines are white space.
bool is_control(char32_t character) {
  return character != '\t' && character != '\n' && character != '\r' &&
         is_control_or_other(character);
}

bool is_dropped_by_nmt(char32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
         c == 0x9F;
}

bool is_space_of_nmt(char32_t c) {
  return c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}

void clean(NormalText& text) {
  rewrite(text, [](char32_t character, std::string_view bytes, std::string& result) {
    if (character == 0 || character == 0xFFFD || is_control(character)) return;
    result += is_white_space(character) ? " " : bytes;
  });
}

void drop_accents(NormalText& text) {
  to_normal_form(text, NormalForm::kD);
  drop_if(text, is_nonspacing_mark);
}

/// The longest of some texts that another one begins with. @param sorted  longest first
std::size_t length_of_kept(std::string_view text, const std::vector<std::string>& sorted) {
  for (const std::string& each : sorted) {
    if (text.starts_with(each)) return each.size();
  }
  return 0;
}

}  // namespace

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (;;) {
    const std::size_t at = text.find(from);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += to;
    text.remove_prefix(at + from.size());
  }
}

namespace normalizer_step {

NormalizerStep normal_form(NormalForm form) {
  return [form](NormalText& text) { to_normal_form(text, form); };
}

NormalizerStep lower_case() { return to_lower_case; }

NormalizerStep strip(bool left, bool right) {
  return [left, right](NormalText& text) {
    std::size_t begin = std::string::npos;  // of what remains
    std::size_t end = 0;
    std::size_t at = 0;
    for_each_character(text.text, [&](char32_t character, std::string_view bytes) {
      if (!is_white_space(character)) {
        begin = std::min(begin, at);
        end = at + bytes.size();
      }
      at += bytes.size();
    });
    if (begin == std::string::npos) begin = end = left ? at : 0;  // white space only
    if (!left) begin = 0;
    if (!right) end = at;
    text.front -= std::min(text.front, begin);
    text.text = text.text.substr(begin, end > begin ? end - begin : 0);
    text.front = std::min(text.front, text.text.size());
  };
}

NormalizerStep strip_accents() {
  return [](NormalText& text) { drop_if(text, is_mark); };
}

NormalizerStep replace(Regex pattern, std::string content) {
  return [pattern = std::move(pattern), content = std::move(content)](NormalText& text) {
    std::string result;
    std::size_t last = 0;
    std::size_t front = 0;
    const auto copy = [&](std::size_t end) {
      result.append(text.text, last, end - last);
      if (last < text.front) front = result.size() - (end - std::min(end, text.front));
    };
    pattern.for_each_match(text.text, [&](std::size_t begin, std::size_t end) {
      copy(begin);
      result += content;
      // It comes from the last character that it replaces.
      if (end <= text.front && (end > 0 || text.front > 0)) front = result.size();
      last = end;
    });
    copy(text.text.size());
    text.text = std::move(result);
    text.front = front;
  };
}

NormalizerStep replace_text(std::string from, std::string to) {
  if (from.size() > 1) return replace(Regex(escaped_pattern(from)), std::move(to));
  return [from = std::move(from), to = std::move(to)](NormalText& text) {
    text.front = replaced(std::string_view(text.text).substr(0, text.front), from, to).size();
    text.text = replaced(text.text, from, to);
  };
}

NormalizerStep prepend(std::string content) {
  return [content = std::move(content)](NormalText& text) {
    if (text.text.empty()) return;
    text.text.insert(0, content);
    if (text.front > 0) text.front += content.size();
  };
}

NormalizerStep bert(const BertNormalizer& options) {
  return [options](NormalText& text) {
    if (options.cleans_text) clean(text);
    if (options.separates_chinese) {
      rewrite(text, [](char32_t character, std::string_view bytes, std::string& result) {
        if (!is_chinese(character)) {
          result += bytes;
        } else {
          result.append(" ").append(bytes).append(" ");
        }
      });
    }
    if (options.strips_accents) drop_accents(text);
    if (options.lowers_case) to_lower_case(text);
  };
}

NormalizerStep nmt() {
  return [](NormalText& text) {
    rewrite(text, [](char32_t character, std::string_view bytes, std::string& result) {
      if (!is_dropped_by_nmt(character)) result += is_space_of_nmt(character) ? " " : bytes;
    });
  };
}

NormalizerStep precompiled(Charsmap map) {
  return [map = std::move(map)](NormalText& text) {
    constexpr std::size_t kLongCluster = 6;
    std::string result;
    std::size_t at = 0;
    std::size_t front = 0;
    /// Appends what becomes of a part, or the part itself where it must be there.
    const auto append = [&](std::string_view part, bool is_needed) {
      const auto found = map.shortest(part);
      if (!found && !is_needed) return false;
      result += found ? found->content : part;
      // The package takes what follows a part that is left out in front for this part.
      if (text.front > 0 && (front == 0 || at < text.front)) front = result.size();
      at += part.size();
      return true;
    };
    for (const std::string_view cluster : grapheme_clusters(text.text)) {
      if (cluster.size() < kLongCluster && append(cluster, false)) continue;
      for_each_character(cluster, [&](char32_t, std::string_view bytes) { append(bytes, true); });
    }
    text.text = std::move(result);
    text.front = front;
  };
}

NormalizerStep precompiled_by_prefixes(Charsmap map, std::vector<std::string> kept) {
  std::ranges::stable_sort(kept, std::greater(), &std::string::size);
  return [map = std::move(map), kept = std::move(kept)](NormalText& text) {
    std::string result;
    for (std::string_view rest = text.text; !rest.empty();) {
      std::size_t length = length_of_kept(rest, kept);
      const auto found = length > 0 ? std::nullopt : map.longest(rest);
      if (length == 0) length = found ? found->length : utf8_length(rest);
      if (length == 0) break;
      result += found ? found->content : rest.substr(0, length);
      rest.remove_prefix(length);
    }
    text.text = std::move(result);
  };
}

NormalizerStep spaces(const SpaceRules& rules) {
  return [rules](NormalText& text) {
    std::string result;
    bool is_in_word = false;
    bool has_front = false;
    for (const char c : text.text) {
      if (c == ' ') {
        is_in_word = false;
        if (!rules.merges) result += ' ';
        continue;
      }
      if (!is_in_word && (rules.merges || (rules.adds_front && !has_front))) {
        result += ' ';
        has_front = true;
      }
      is_in_word = true;
      result += c;
    }
    text.text = std::move(result);
  };
}

}  // namespace normalizer_step
}  // namespace halftone::lm
