// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/loop.h"

namespace halftone::lm::jinja {
namespace {

template <typename T>
const T* pointer(const Value& value) {
  return value.is<std::shared_ptr<const T>>() ? value.as<std::shared_ptr<const T>>().get()
                                              : nullptr;
}

}  // namespace

const Value* Dict::find(const Value& key) const {
  const auto found =
      std::ranges::find_if(items, [&](const auto& item) { return is_equal(item.first, key); });
  return found == items.end() ? nullptr : &found->second;
}

const Value* Dict::find(std::string_view key) const { return find(Value::text(key)); }

void Dict::set(Value key, Value value) {
  for (auto& [known, content] : items) {
    if (!is_equal(known, key)) continue;
    content = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
}

namespace {

void add_nesting(Nesting& outer, const Value& value) {
  constexpr std::size_t kMaxDepth = 200;
  constexpr std::size_t kMaxSize = 2'000'000;
  const Nesting inner = value.nesting();
  outer.depth = std::max(outer.depth, inner.depth + 1);
  outer.size += inner.size;
  outer.holds_scopes |= inner.holds_scopes;
  if (outer.depth > kMaxDepth) {
    fail(ErrorKind::kUnsupported, "expected at most 200 lists and dicts in each other");
  }
  if (outer.size > kMaxSize) fail(ErrorKind::kUnsupported, "a list or a dict becomes too large");
}

}  // namespace

Value::Value(Dict dict) {
  for (const auto& [key, value] : dict.items) {
    add_nesting(dict.nesting, key);
    add_nesting(dict.nesting, value);
  }
  storage_ = std::make_shared<const Dict>(std::move(dict));
}
Value::Value(Callable callable) : storage_(std::make_shared<const Callable>(std::move(callable))) {}

Value Value::sequence(std::vector<Value> items, SequenceKind kind) {
  Sequence sequence{std::move(items), kind};
  for (const Value& item : sequence.items) add_nesting(sequence.nesting, item);
  return Value(Storage(std::make_shared<const Sequence>(std::move(sequence))));
}

Nesting Value::nesting() const {
  if (sequence() != nullptr) return sequence()->nesting;
  if (dict() != nullptr) return dict()->nesting;
  constexpr std::size_t kCharactersOfOne = 16;
  if (string() != nullptr) return {0, 1 + string()->text.size() / kCharactersOfOne};
  return {0, 1, names() != nullptr || loop() != nullptr || callable() != nullptr};
}

const String* Value::string() const { return pointer<String>(*this); }
const Sequence* Value::sequence() const { return pointer<Sequence>(*this); }
const Dict* Value::dict() const { return pointer<Dict>(*this); }
const Callable* Value::callable() const { return pointer<Callable>(*this); }
Namespace* Value::names() const {
  return is<std::shared_ptr<Namespace>>() ? as<std::shared_ptr<Namespace>>().get() : nullptr;
}
const Loop* Value::loop() const {
  return is<std::shared_ptr<Loop>>() ? as<std::shared_ptr<Loop>>().get() : nullptr;
}

std::int64_t Value::integer() const {
  return is<bool>() ? static_cast<std::int64_t>(as<bool>()) : as<std::int64_t>();
}

double Value::number() const {
  return is<double>() ? as<double>() : static_cast<double>(integer());
}

std::string type_name(const Value& value) {
  if (const Sequence* sequence = value.sequence()) {
    constexpr std::array<const char*, 5> kNames = {"list", "tuple", "range", "dict view",
                                                   "generator"};
    return kNames[static_cast<std::size_t>(sequence->kind)];
  }
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "NoneType";
  if (value.is<bool>()) return "bool";
  if (value.is<std::int64_t>()) return "int";
  if (value.is<double>()) return "float";
  if (value.string() != nullptr) return "str";
  if (value.dict() != nullptr) return "dict";
  if (value.names() != nullptr) return "Namespace";
  return value.loop() != nullptr ? "loop" : "function";
}

bool is_true(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_number()) return value.number() != 0;
  if (const String* string = value.string()) return !string->text.empty();
  if (const Sequence* sequence = value.sequence()) {
    return sequence->kind == SequenceKind::kGenerator || !sequence->items.empty();
  }
  if (const Dict* dict = value.dict()) return !dict->items.empty();
  return true;
}

namespace {

bool are_equal(const Sequence& a, const Sequence& b) {
  if (a.kind == SequenceKind::kGenerator || a.kind == SequenceKind::kView) return &a == &b;
  return a.kind == b.kind && std::ranges::equal(a.items, b.items, is_equal);
}

bool are_equal(const Dict& a, const Dict& b) {
  return a.items.size() == b.items.size() && std::ranges::all_of(a.items, [&](const auto& item) {
           const Value* other = b.find(item.first);
           return other != nullptr && is_equal(item.second, *other);
         });
}

/// Whether they are one object, or both nothing, or both undefined.
bool is_same(const Value& a, const Value& b) {
  if (a.is_undefined() || a.is_none()) return type_name(a) == type_name(b);
  if (a.names() != nullptr) return a.names() == b.names();
  if (a.loop() != nullptr) return a.loop() == b.loop();
  return a.callable() != nullptr && a.callable() == b.callable();
}

}  // namespace

bool is_equal(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return a.integer() == b.integer();
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  if (a.string() != nullptr && b.string() != nullptr) return a.string()->text == b.string()->text;
  if (a.sequence() != nullptr && b.sequence() != nullptr) {
    return are_equal(*a.sequence(), *b.sequence());
  }
  if (a.dict() != nullptr && b.dict() != nullptr) return are_equal(*a.dict(), *b.dict());
  return is_same(a, b);
}

bool is_less(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return a.integer() < b.integer();
  if (a.is_number() && b.is_number()) return a.number() < b.number();
  if (a.string() != nullptr && b.string() != nullptr) return a.string()->text < b.string()->text;
  const Sequence* left = a.sequence();
  const Sequence* right = b.sequence();
  const auto has_order = [](const Sequence& s) {
    return s.kind == SequenceKind::kList || s.kind == SequenceKind::kTuple;
  };
  if (left != nullptr && right != nullptr && left->kind == right->kind && has_order(*left)) {
    for (std::size_t i = 0; i < std::min(left->items.size(), right->items.size()); ++i) {
      if (!is_equal(left->items[i], right->items[i]))
        return is_less(left->items[i], right->items[i]);
    }
    return left->items.size() < right->items.size();
  }
  fail(ErrorKind::kUnsupported, "'" + type_name(a) + "' and '" + type_name(b) +
                                    "' have no order: < is for numbers or texts");
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer{};
  const auto shortest = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                      std::chars_format::scientific);
  std::string text(buffer.data(), shortest.ptr);
  const int exponent = std::stoi(text.substr(text.find('e') + 1));
  if (exponent < -4 || exponent >= 16) return text;
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  const std::string plain_text(buffer.data(), fixed.ptr);
  return plain_text.find('.') == std::string::npos ? plain_text + ".0" : plain_text;
}

std::string printf_text(double value, char letter, int precision) {
  const bool is_upper = letter == 'E' || letter == 'G';
  const auto format = letter == 'f'                    ? std::chars_format::fixed
                      : letter == 'e' || letter == 'E' ? std::chars_format::scientific
                                                       : std::chars_format::general;
  std::array<char, 512> buffer{};  // 309 digits in front of the point, 100 behind
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision).ptr;
  std::string text(buffer.data(), end);
  if (is_upper) {
    std::ranges::transform(text, text.begin(), [](char c) { return c == 'e' ? 'E' : c; });
  }
  return text;
}

void check_size(std::size_t characters) {
  if (characters > kMaxCharacters) fail(ErrorKind::kUnsupported, "texts become too large");
}

namespace {

/// Writes values as repr() does.
class Printer {
 public:
  void add(const Value& value) {
    if (value.string() != nullptr) return add_string(*value.string());
    if (value.sequence() != nullptr) return add_sequence(*value.sequence());
    if (value.dict() != nullptr) return add_dict(*value.dict());
    write(scalar(value));
  }
  Text take() { return std::move(text_); }

 private:
  static std::string scalar(const Value& value) {
    if (value.is_undefined()) return "Undefined";
    if (value.is_none()) return "None";
    if (value.is<bool>()) return value.as<bool>() ? "True" : "False";
    if (value.is_integer()) return std::to_string(value.integer());
    if (value.is_number()) return float_text(value.number());
    fail(ErrorKind::kUnsupported, "a " + type_name(value) + " is printed, which has no text");
  }

  void write(std::string_view text) {
    text_ += from_utf8(text);
    check_size(text_.size());
  }

  void add_string(const String& string) {
    if (string.is_markup) write("Markup(");
    const TextView text = string.text;
    const bool has_single = text.find(U'\'') != TextView::npos;
    const char32_t quote = has_single && text.find(U'"') == TextView::npos ? U'"' : U'\'';
    text_.push_back(quote);
    for (const char32_t c : text) add_character(c, quote);
    text_.push_back(quote);
    if (string.is_markup) write(")");
    check_size(text_.size());
  }

  void add_character(char32_t c, char32_t quote) {
    const char32_t mark = c & kFromMessage;
    const auto escape = [&](char32_t letter) { text_ += {U'\\' | mark, letter | mark}; };
    const char32_t code = plain(c);
    if (code == quote || code == U'\\') return escape(code);
    if (code == U'\n') return escape(U'n');
    if (code == U'\r') return escape(U'r');
    if (code == U'\t') return escape(U't');
    if (code >= 0x20 && code != 0x7F) return text_.push_back(c);
    constexpr std::u32string_view kDigits = U"0123456789abcdef";
    escape(U'x');
    text_ += {kDigits[code / 16] | mark, kDigits[code % 16] | mark};
  }

  void add_sequence(const Sequence& sequence) {
    const bool is_tuple = sequence.kind == SequenceKind::kTuple;
    if (!is_tuple && sequence.kind != SequenceKind::kList) {
      fail(ErrorKind::kUnsupported, "a sequence is printed that is no list: use |list");
    }
    write(is_tuple ? "(" : "[");
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) write(", ");
      add(sequence.items[i]);
    }
    if (is_tuple && sequence.items.size() == 1) write(",");
    write(is_tuple ? ")" : "]");
  }

  void add_dict(const Dict& dict) {
    write("{");
    for (std::size_t i = 0; i < dict.items.size(); ++i) {
      if (i > 0) write(", ");
      add(dict.items[i].first);
      write(": ");
      add(dict.items[i].second);
    }
    write("}");
  }

  Text text_;
};

}  // namespace

Text to_text(const Value& value) {
  if (value.string() != nullptr) return value.string()->text;
  if (value.is_undefined()) return {};
  Printer printer;
  printer.add(value);
  return printer.take();
}

}  // namespace halftone::lm::jinja
