// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/fields/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include "halftone/base/error.h"

namespace halftone {
namespace {

static_assert(std::is_same_v<std::size_t, std::uint64_t>);

constexpr const char* kNothing = "none";

std::string text_of(double value) {
  constexpr double kMaxWhole = 1e15;  // above, digits would be made up
  if (std::abs(value) < kMaxWhole && value == std::floor(value)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int value) { return std::to_string(value); }
std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(std::uint64_t value) { return std::to_string(value); }
std::string text_of(const std::string& value) { return value.empty() ? kNothing : value; }
std::string text_of(const std::filesystem::path& value) { return text_of(value.string()); }
template <typename Number>
std::string text_of(const std::vector<Number>& values) {
  std::string text;
  for (const Number each : values) text += (text.empty() ? "" : ", ") + text_of(each);
  return "[" + text + "]";
}
std::string text_of(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& each : values) text += (text.empty() ? "" : ",") + each;
  return text_of(text);
}
template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : kNothing;
}

/// The numbers of a value, of which there may be none.
std::vector<double> numbers_of(const std::vector<double>& values) { return values; }
std::vector<double> numbers_of(const std::vector<std::uint64_t>& values) {
  return {values.begin(), values.end()};
}
template <typename T>
std::vector<double> numbers_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    return {static_cast<double>(value)};
  } else {
    return {};
  }
}
template <typename T>
std::vector<double> numbers_of(const std::optional<T>& value) {
  return value ? numbers_of(*value) : std::vector<double>{};
}

template <typename T>
constexpr bool kMayBeUnset =
    std::is_same_v<T, std::filesystem::path> || std::is_same_v<T, std::vector<std::string>>;
template <typename T>
constexpr bool kMayBeUnset<std::optional<T>> = true;

}  // namespace

bool FieldRange::contains(double value) const {
  return (is_open ? value > low : value >= low) && value <= high;
}

std::string Field::option_name() const {
  if (!option.empty()) return option;
  std::string made = "--" + name;
  std::ranges::replace(made, '_', '-');
  return made;
}

std::string Field::range_text() const {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  if (!list.empty()) return list;
  const std::string zero = zero_word.empty() ? "" : " or " + zero_word;
  if (range.has_low() && range.has_high()) {
    return text_of(range.low) + " to " + text_of(range.high) + zero;
  }
  if (range.has_low()) {
    return (range.is_open ? "a number above " : "at least ") + text_of(range.low) + zero;
  }
  return "";
}

std::string Field::value_text() const {
  if (has_zero_word()) return zero_word;
  return std::visit([](const auto* value) { return text_of(*value); }, place);
}

std::string Field::default_text() const { return usual.empty() ? value_text() : usual; }

std::string Field::help() const { return usual.empty() ? text : text + " (default " + usual + ")"; }

std::string_view Field::kind() const {
  constexpr std::string_view kKinds[] = {"bool", "int",    "int",   "float", "str",
                                         "path", "floats", "texts", "bool",  "int",
                                         "int",  "int",    "float", "str",   "ints"};
  static_assert(std::size(kKinds) == std::variant_size_v<FieldPlace>);
  return kKinds[place.index()];
}

bool Field::is_optional() const {
  return std::visit([]<typename T>(const T* /*value*/) { return kMayBeUnset<T>; }, place);
}

bool Field::is_set() const {
  return std::visit(
      [this]<typename T>(const T* value) {
        if constexpr (requires { value->has_value(); }) {
          return value->has_value();
        } else if constexpr (requires { value->empty(); }) {
          return !value->empty();
        } else {
          return usual.empty() || *value != T{};
        }
      },
      place);
}

bool Field::has_zero_word() const {
  const auto numbers = std::visit([](const auto* value) { return numbers_of(*value); }, place);
  return !zero_word.empty() && numbers == std::vector<double>{0};
}

void Field::reset() const {
  std::visit(
      []<typename T>(T* value) {
        if constexpr (kMayBeUnset<T>) *value = T{};
      },
      place);
}

void Field::check() const {
  const auto numbers = std::visit([](const auto* value) { return numbers_of(*value); }, place);
  const bool fits = std::ranges::all_of(numbers, [&](double each) { return range.contains(each); });
  const bool is_word = words.empty() || std::ranges::count(words, value_text()) > 0;
  const bool is_none = !is_set() && (is_optional() || !usual.empty());
  if (is_none || has_zero_word() || (fits && is_word)) return;
  fail(ErrorKind::kUsage, name + ": expected " + range_text() + ", found " + value_text());
}

const Field* find_field(const Fields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

Fields joined(Fields first, Fields second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()),
               std::make_move_iterator(second.end()));
  return first;
}

}  // namespace halftone
