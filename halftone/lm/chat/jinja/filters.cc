// SPDX-License-Identifier: Apache-2.0
// Filters of texts and numbers.
#include "halftone/lm/chat/jinja/filters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/access.h"
#include "halftone/lm/chat/jinja/json.h"

namespace halftone::lm::jinja {
namespace {

/// A new text of a filter; markup where the value was.
Value made(Machine& machine, const Value& value, Text text) {
  machine.make(text.size());
  return {std::move(text), value.string() != nullptr && value.string()->is_markup};
}

/// The method of a text with the name of the filter.
Value as_method(Machine& machine, const std::string& name, const Value& value,
                const Arguments& arguments) {
  const Value text = value.string() != nullptr ? value : Value(to_text(value));
  return machine.call(method_of_text(text, name == "trim" ? "strip" : name), arguments);
}

Value center(Machine& machine, const std::string& name, const Value& value,
             const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"width"});
  return machine.call(method_of_text(Value(to_text(value)), name), {{bound.integer(0, 80)}, {}});
}

/// Jinja's own: words begin behind white space, "-", and opening brackets.
Value title_case(Machine& machine, const std::string& name, const Value& value,
                 const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  Text text = lower(to_text(value));
  const auto begins_word = [](char32_t c) {
    return is_space(c) || plain(c) == U'-' || plain(c) == U'(' || plain(c) == U'{' ||
           plain(c) == U'[' || plain(c) == U'<';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 0 || begins_word(text[i - 1])) text.replace(i, 1, upper(TextView(text).substr(i, 1)));
  }
  return made(machine, value, std::move(text));
}

Value replace_all(Machine& machine, const std::string& name, const Value& value,
                  const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"old", "new", "count"});
  const Text text = to_text(value);
  machine.work(1 + text.size() / 16);
  const std::int64_t count = bound.has(2) && bound[2].is_none() ? -1 : bound.integer(2, -1);
  return made(machine, value,
              replaced(text, to_text(bound[0]), to_text(bound[1]), count, kMaxCharacters));
}

Value string(Machine& machine, const std::string& name, const Value& value,
             const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  if (value.string() != nullptr) return value;
  return made(machine, value, to_text(value));
}

Value safe(Machine& /*machine*/, const std::string& name, const Value& value,
           const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  return {to_text(value), true};
}

Value escape(Machine& machine, const std::string& name, const Value& value,
             const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  const bool is_done =
      value.string() != nullptr && value.string()->is_markup && name != "forceescape";
  if (is_done) return value;
  Text text = escaped(to_text(value));
  machine.make(text.size());
  return {std::move(text), true};
}

Value format_values(Machine& machine, const std::string& /*name*/, const Value& value,
                    const Arguments& arguments) {
  Value values = Value::sequence(arguments.positional, SequenceKind::kTuple);
  if (!arguments.named.empty()) {
    if (!arguments.positional.empty())
      fail(ErrorKind::kUnsupported, "filter format: both kinds of arguments");
    Dict dict;
    for (const auto& [key, each] : arguments.named) dict.set(Value::text(key), each);
    values = Value(std::move(dict));
  }
  return made(machine, value, formatted(machine, to_text(value), values));
}

Value indent(Machine& machine, const std::string& name, const Value& value,
             const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"width", "first", "blank"});
  Text space;
  if (bound.has(0) && bound[0].string() != nullptr) {
    space = bound[0].string()->text;
  } else {
    const auto width = std::max(bound.integer(0, 4), std::int64_t{0});
    check_size(static_cast<std::size_t>(width));
    space = Text(static_cast<std::size_t>(width), U' ');
  }
  const Text text = to_text(value) + Text(1, U'\n');  // as Jinja does, for a text without lines
  Text result;
  bool is_first = true;
  for (const Text& line : split_lines(text, false)) {
    if (!is_first) result += U"\n";
    const bool has_space = is_first ? bound.flag(1) : bound.flag(2) || !line.empty();
    if (has_space) result += space;
    result += line;
    is_first = false;
    check_size(result.size());
  }
  return made(machine, value, std::move(result));
}

Value truncate(Machine& machine, const std::string& name, const Value& value,
               const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"length", "killwords", "end", "leeway"});
  const Text end = bound.has(2) ? bound.text(2) : from_utf8("...");
  const std::int64_t length = bound.integer(0, 255);
  const Text text = to_text(value);
  const auto size = static_cast<std::int64_t>(text.size());
  if (length < static_cast<std::int64_t>(end.size()))
    fail(ErrorKind::kUnsupported, "filter truncate: the length is below that of the end");
  if (size <= length + bound.integer(3, 5)) return made(machine, value, text);
  Text kept = text.substr(0, static_cast<std::size_t>(length) - end.size());
  if (!bound.flag(1)) {
    const std::size_t space = kept.rfind(U' ');
    if (space != Text::npos) kept.resize(space);
  }
  return made(machine, value, kept + end);
}

Value wordcount(Machine& machine, const std::string& name, const Value& value,
                const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  const Text text = to_text(value);
  machine.work(text.size());
  std::int64_t words = 0;
  bool is_in_word = false;
  for (const char32_t c : text) {
    const bool is_part = is_letter(c) || is_decimal(c) || plain(c) == U'_';
    words += is_part && !is_in_word ? 1 : 0;
    is_in_word = is_part;
  }
  return words;
}

Value urlencode(Machine& machine, const std::string& name, const Value& value,
                const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  if (value.dict() != nullptr || value.sequence() != nullptr)
    fail_type("filter urlencode: a text", value);
  std::string result;
  for (const char c : to_utf8_text(to_text(value))) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        std::isalnum(byte) != 0 || std::string_view("_.-~/").find(c) != std::string_view::npos;
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    result +=
        is_plain ? std::string(1, c) : std::string{'%', kDigits[byte / 16U], kDigits[byte % 16U]};
  }
  return made(machine, value, from_utf8(result));
}

Value tojson(Machine& machine, const std::string& name, const Value& value,
             const Arguments& arguments) {
  const Bound bound =
      filter_arguments(name, arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = bound.flag(0);
  style.sorts_keys = bound.flag(3);
  style.has_indent = bound.has(1) && !bound[1].is_none();
  if (style.has_indent && bound[1].string() != nullptr) {
    style.indent = bound[1].string()->text;
  } else if (style.has_indent) {
    const auto width = std::max(bound.integer(1, 0), std::int64_t{0});
    check_size(static_cast<std::size_t>(width));
    style.indent = Text(static_cast<std::size_t>(width), U' ');
  }
  style.item_separator = from_utf8(style.has_indent ? "," : ", ");
  style.key_separator = from_utf8(": ");
  if (bound.has(2) && !bound[2].is_none()) {
    const std::vector<Value> both = items_of(bound[2]);
    const bool are_texts =
        both.size() == 2 && both[0].string() != nullptr && both[1].string() != nullptr;
    if (!are_texts) fail_type("filter tojson: two texts as separators", bound[2]);
    style.item_separator = both[0].string()->text;
    style.key_separator = both[1].string()->text;
  }
  return to_json(machine, value, style);
}

Value absolute(Machine& /*machine*/, const std::string& name, const Value& value,
               const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  if (!value.is_number()) fail_type("filter abs: a number", value);
  if (value.is_integer()) return value.integer() < 0 ? -value.integer() : value.integer();
  return std::abs(value.number());
}

/// A number in text, as int() and float() take it.
template <typename Number>
std::optional<Number> parsed(const Text& text, int base) {
  std::string digits = to_utf8_text(stripped(text, {}, Side::kBoth));
  if (digits.starts_with('+')) digits.erase(0, 1);
  std::erase(digits, '_');
  Number number{};
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<Number>) {
    result = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  } else {
    result = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  }
  const bool is_all = result.ec == std::errc() && result.ptr == digits.data() + digits.size();
  return is_all ? std::optional(number) : std::nullopt;
}

std::int64_t whole(double value) {
  if (!(std::abs(value) < 9.2e18)) fail(ErrorKind::kUnsupported, "an integer goes beyond 64 bits");
  return static_cast<std::int64_t>(value);
}

Value to_int(Machine& /*machine*/, const std::string& name, const Value& value,
             const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"default", "base"});
  Value usual = bound.get(0, std::int64_t{0});
  if (value.is_integer()) return value.integer();
  if (value.is_number())
    return std::isfinite(value.number()) ? Value(whole(value.number())) : usual;
  if (value.string() == nullptr) return usual;
  const std::int64_t base = bound.integer(1, 10);
  if (base < 2 || base > 36)
    fail(ErrorKind::kUnsupported, "filter int: expected a base of 2 to 36");
  if (const auto number = parsed<std::int64_t>(value.string()->text, static_cast<int>(base)))
    return *number;
  const auto number = parsed<double>(value.string()->text, 10);
  return number && std::isfinite(*number) ? Value(whole(*number)) : usual;
}

Value to_float(Machine& /*machine*/, const std::string& name, const Value& value,
               const Arguments& arguments) {
  Value usual = filter_arguments(name, arguments, {"default"}).get(0, 0.0);
  if (value.is_number()) return value.number();
  if (value.string() == nullptr) return usual;
  const auto number = parsed<double>(value.string()->text, 10);
  return number ? Value(*number) : usual;
}

Value round_number(Machine& /*machine*/, const std::string& name, const Value& value,
                   const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"precision", "method"});
  if (!value.is_number()) fail_type("filter round: a number", value);
  const std::int64_t precision = bound.integer(0, 0);
  const std::string method = bound.has(1) ? to_utf8_text(bound.text(1)) : "common";
  if (precision < 0 || precision > 100)
    fail(ErrorKind::kUnsupported, "filter round: expected 0 to 100 digits");
  const double number = value.number();
  if (method == "common") {
    if (value.is_integer() || !std::isfinite(number)) return value;
    const std::string text = printf_text(number, 'f', static_cast<int>(precision));
    return *parsed<double>(from_utf8(text), 10);
  }
  const double scale = std::pow(10, static_cast<double>(precision));
  if (method == "ceil") return std::ceil(number * scale) / scale;
  if (method == "floor") return std::floor(number * scale) / scale;
  fail(ErrorKind::kUnsupported,
       "filter round: expected common, ceil or floor, found '" + method + "'");
}

Value usual_value(Machine& /*machine*/, const std::string& name, const Value& value,
                  const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"default_value", "boolean"});
  const bool takes_usual = value.is_undefined() || (bound.flag(1) && !is_true(value));
  return takes_usual ? bound.get(0, Value::text("")) : value;
}

Value attribute(Machine& /*machine*/, const std::string& name, const Value& value,
                const Arguments& arguments) {
  return attribute_of(value, to_utf8_text(filter_arguments(name, arguments, {"name"}).text(0)));
}

struct ValueFilter {
  std::string_view name;
  Filter run;
};

constexpr std::array<ValueFilter, 25> kValueFilters = {{
    {"abs", absolute},
    {"attr", attribute},
    {"capitalize", as_method},
    {"center", center},
    {"d", usual_value},
    {"default", usual_value},
    {"e", escape},
    {"escape", escape},
    {"float", to_float},
    {"forceescape", escape},
    {"format", format_values},
    {"indent", indent},
    {"int", to_int},
    {"lower", as_method},
    {"replace", replace_all},
    {"round", round_number},
    {"safe", safe},
    {"string", string},
    {"title", title_case},
    {"tojson", tojson},
    {"trim", as_method},
    {"truncate", truncate},
    {"upper", as_method},
    {"urlencode", urlencode},
    {"wordcount", wordcount},
}};

constexpr std::array<std::string_view, 9> kOtherFilters = {"filesizeformat", "groupby",   "pprint",
                                                           "random",         "striptags", "urlize",
                                                           "wordwrap",       "xmlattr",   "slice"};

}  // namespace

Bound filter_arguments(const std::string& name, const Arguments& arguments,
                       std::initializer_list<const char*> names) {
  return {"filter " + name, arguments, names};
}

Filter value_filter(const std::string& name) {
  const auto* found = std::ranges::find(kValueFilters, name, &ValueFilter::name);
  return found == kValueFilters.end() ? nullptr : found->run;
}

Value filtered(Machine& machine, const std::string& name, const Value& value,
               const Arguments& arguments) {
  machine.work();
  for (const Filter filter : {value_filter(name), sequence_filter(name)}) {
    if (filter != nullptr) return filter(machine, name, value, arguments);
  }
  const bool is_known = std::ranges::find(kOtherFilters, name) != kOtherFilters.end();
  fail(ErrorKind::kUnsupported, is_known ? "the filter '" + name + "' is not supported"
                                         : "there is no filter '" + name + "'");
}

}  // namespace halftone::lm::jinja
