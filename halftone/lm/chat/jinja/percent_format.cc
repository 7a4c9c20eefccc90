// SPDX-License-Identifier: Apache-2.0
// "text % values", as Python has it.
#include <algorithm>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/access.h"

namespace halftone::lm::jinja {
namespace {

/// "%-8.3f": flags, width, precision and letter.
struct Field {
  std::string flags;
  std::size_t width = 0;
  int precision = -1;
  char letter = 0;
};

class Formatter {
 public:
  Formatter(TextView format, const Value& values) : format_(format), values_(values) {}

  Text run() {
    while (!format_.empty()) {
      const char32_t c = take();
      if (plain(c) != U'%') {
        result_.push_back(c);
      } else {
        add_field();
      }
      check_size(result_.size());
    }
    const bool takes_one = values_.sequence() == nullptr && values_.dict() == nullptr;
    const std::size_t count = takes_one                   ? 1
                              : values_.dict() != nullptr ? used_
                                                          : length_of(values_);
    if (used_ < count) fail(ErrorKind::kUnsupported, "%: not all values are in the text");
    return std::move(result_);
  }

 private:
  char32_t take() {
    if (format_.empty()) fail(ErrorKind::kUnsupported, "%: the text ends in a field");
    const char32_t c = format_.front();
    format_.remove_prefix(1);
    return c;
  }
  [[nodiscard]] bool is_at(std::string_view characters) const {
    return !format_.empty() && plain(format_.front()) < 128 &&
           characters.find(static_cast<char>(plain(format_.front()))) != std::string_view::npos;
  }
  std::size_t take_number() {
    std::size_t number = 0;
    while (is_at("0123456789")) number = 10 * number + (plain(take()) - U'0');
    check_size(number);
    return number;
  }

  Value next_value() {
    if (is_at("(")) {
      const std::size_t end = format_.find(U')');
      if (values_.dict() == nullptr || end == TextView::npos)
        fail_type("%: a dict of values", values_);
      const Value* found = values_.dict()->find(Value(Text(format_.substr(1, end - 1))));
      if (found == nullptr) fail(ErrorKind::kUnsupported, "%: a value is missing");
      format_.remove_prefix(end + 1);
      return *found;
    }
    return {};
  }

  Value value_in_order() {
    const Sequence* all = values_.sequence();
    const bool is_tuple = all != nullptr && all->kind == SequenceKind::kTuple;
    if (is_tuple ? used_ >= all->items.size() : used_ > 0) {
      fail(ErrorKind::kUnsupported, "%: there are not enough values");
    }
    return is_tuple ? all->items[used_++] : (++used_, values_);
  }

  void add_field() {
    if (is_at("%")) return result_.push_back(take());
    const bool has_name = is_at("(");
    Value value = next_value();
    Field field;
    while (is_at("-+ 0#")) field.flags += static_cast<char>(plain(take()));
    field.width = take_number();
    if (is_at(".")) {
      take();
      field.precision = static_cast<int>(std::min<std::size_t>(take_number(), 100));
    }
    field.letter = static_cast<char>(plain(take()));
    if (!has_name) value = value_in_order();
    add_padded(text_of(field, value), field);
  }

  static std::string number_text(const Field& field, const Value& value) {
    if (field.letter == 'd' || field.letter == 'i') {
      if (value.is_integer()) return std::to_string(value.integer());
      if (!(std::abs(value.number()) < 9.2e18)) fail_type("%: an integer of 64 bits", value);
      return std::to_string(static_cast<std::int64_t>(value.number()));
    }
    if (std::string_view("feEgG").find(field.letter) == std::string_view::npos) {
      fail(ErrorKind::kUnsupported,
           "%: the field %" + std::string(1, field.letter) + " is not supported");
    }
    return printf_text(value.number(), field.letter, field.precision < 0 ? 6 : field.precision);
  }

  static Text text_of(const Field& field, const Value& value) {
    if (field.letter == 's') {
      const Text text = to_text(value);
      return field.precision < 0 ? text : text.substr(0, static_cast<std::size_t>(field.precision));
    }
    if (field.letter == 'r') {
      const Text list = to_text(Value::sequence({value}));  // in brackets
      return list.substr(1, list.size() - 2);
    }
    if (!value.is_number()) fail_type("%: a number", value);
    const std::string text = number_text(field, value);
    const bool has_plus = field.flags.find('+') != std::string::npos && !text.starts_with('-');
    return from_utf8((has_plus ? "+" : "") + text);
  }

  void add_padded(const Text& text, const Field& field) {
    const std::size_t missing = field.width > text.size() ? field.width - text.size() : 0;
    const bool is_left = field.flags.find('-') != std::string::npos;
    const bool has_zeros =
        !is_left && field.letter != 's' && field.flags.find('0') != std::string::npos;
    Text padded = text;
    const bool has_sign = !text.empty() && (text[0] == U'-' || text[0] == U'+');
    padded.insert(is_left                 ? text.size()
                  : has_zeros && has_sign ? 1
                                          : 0,
                  Text(missing, has_zeros ? U'0' : U' '));
    result_ += padded;
  }

  TextView format_;
  const Value& values_;
  Text result_;
  std::size_t used_ = 0;
};

}  // namespace

Text formatted(Machine& machine, TextView format, const Value& values) {
  Text text = Formatter(format, values).run();
  machine.make(text.size());
  return text;
}

}  // namespace halftone::lm::jinja
