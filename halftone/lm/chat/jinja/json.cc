// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"

namespace halftone::lm::jinja {
namespace {

class Writer {
 public:
  explicit Writer(const JsonStyle& style) : style_(style) {}

  void add(const Value& value) {
    if (value.string() != nullptr) return add_string(value.string()->text);
    if (value.dict() != nullptr) return add_dict(*value.dict());
    const Sequence* list = value.sequence();
    const bool is_list = list != nullptr &&
                         (list->kind == SequenceKind::kList || list->kind == SequenceKind::kTuple);
    if (is_list) return add_list(list->items);
    const bool has_form = value.is_none() || value.is_number();
    if (!has_form) fail_type("tojson: a value that JSON can have", value);
    add_ascii(scalar(value));
  }
  Text take() { return std::move(text_); }

 private:
  static std::string scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (value.is<bool>()) return value.as<bool>() ? "true" : "false";
    if (value.is_integer()) return std::to_string(value.integer());
    if (std::isnan(value.number())) return "NaN";
    if (std::isinf(value.number())) return value.number() < 0 ? "-Infinity" : "Infinity";
    return float_text(value.number());
  }

  void add_ascii(std::string_view text) {
    for (const char c : text) text_.push_back(static_cast<char32_t>(c));
    check_size(text_.size());
  }

  void add_string(TextView text) {
    text_.push_back(U'"');
    for (const char32_t c : text) add_character(c);
    text_.push_back(U'"');
    check_size(text_.size());
  }

  void add_character(char32_t c) {
    constexpr std::u32string_view kEscaped = U"\"\\\n\r\t\f\b";
    constexpr std::u32string_view kLetters = U"\"\\nrtfb";
    const char32_t mark = c & kFromMessage;
    const char32_t code = plain(c);
    if (const std::size_t i = kEscaped.find(code); i != std::u32string_view::npos) {
      text_ += {U'\\' | mark, kLetters[i] | mark};
    } else if (code < 0x20 || (style_.ascii && code > 0x7F)) {
      if (code > 0xFFFF) {
        add_unit(0xD7C0 + (code >> 10), mark);
        return add_unit(0xDC00 + (code & 0x3FF), mark);
      }
      add_unit(code, mark);
    } else {
      text_.push_back(c);
    }
  }

  void add_unit(char32_t unit, char32_t mark) {
    constexpr std::u32string_view kDigits = U"0123456789abcdef";
    text_ += {U'\\' | mark, U'u' | mark};
    for (int shift = 12; shift >= 0; shift -= 4)
      text_.push_back(kDigits[(unit >> shift) & 15] | mark);
  }

  void add_line() {
    if (!style_.has_indent) return;
    text_.push_back(U'\n');
    for (std::size_t i = 0; i < level_; ++i) text_ += style_.indent;
    check_size(text_.size());
  }

  /// Items between brackets.
  template <typename Items, typename Add>
  void add_items(const Items& items, char32_t begin, char32_t end, const Add& add_item) {
    text_.push_back(begin);
    ++level_;
    bool is_first = true;
    for (const auto& item : items) {
      if (!is_first) text_ += style_.item_separator;
      is_first = false;
      add_line();
      add_item(item);
    }
    --level_;
    if (!items.empty()) add_line();
    text_.push_back(end);
  }

  void add_list(const std::vector<Value>& items) {
    add_items(items, U'[', U']', [&](const Value& item) { add(item); });
  }

  void add_dict(const Dict& dict) {
    auto items = dict.items;
    if (style_.sorts_keys) {
      std::ranges::stable_sort(
          items, [](const auto& a, const auto& b) { return is_less(a.first, b.first); });
    }
    add_items(items, U'{', U'}', [&](const auto& item) {
      const Value& key = item.first;
      if (key.string() != nullptr) {
        add_string(key.string()->text);
      } else if (key.is_none() || key.is_number()) {
        add_string(from_utf8(scalar(key)));
      } else {
        fail_type("tojson: a key that JSON can have", key);
      }
      text_ += style_.key_separator;
      add(item.second);
    });
  }

  const JsonStyle& style_;
  Text text_;
  std::size_t level_ = 0;
};

using Json = nlohmann::ordered_json;

Value value_of(const Json& json, bool from_message) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) {
    fail(ErrorKind::kFormat, "JSON: an integer goes beyond 64 bits");
  }
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return from_utf8(json.get_ref<const std::string&>(), from_message);
  if (json.is_array()) {
    std::vector<Value> items;
    for (const Json& item : json) items.push_back(value_of(item, from_message));
    return Value::sequence(std::move(items));
  }
  if (json.is_null()) return None{};
  Dict dict;
  for (const auto& [key, item] : json.items()) {
    dict.items.emplace_back(from_utf8(key), value_of(item, from_message));
  }
  return dict;
}

}  // namespace

Text to_json(Machine& machine, const Value& value, const JsonStyle& style) {
  machine.work(value.nesting().size);
  Writer writer(style);
  writer.add(value);
  Text text = writer.take();
  machine.make(text.size());
  return text;
}

Value from_json(std::string_view text, bool from_message) {
  check_json(text);
  return value_of(Json::parse(text), from_message);
}

}  // namespace halftone::lm::jinja
