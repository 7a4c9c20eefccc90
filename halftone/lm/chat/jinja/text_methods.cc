// SPDX-License-Identifier: Apache-2.0
// Methods of texts, as Python's str has them.
#include <algorithm>
#include <array>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/access.h"

namespace halftone::lm::jinja {
namespace {

/// A text, and what its method is given.
struct Call {
  Machine& machine;
  const String& self;
  const Arguments& arguments;
  std::string name;

  [[nodiscard]] const Text& text() const { return self.text; }
  [[nodiscard]] Bound bound(std::initializer_list<const char*> names) const {
    return {name, arguments, names};
  }
  /// A new text, as much markup as this one.
  [[nodiscard]] Value made(Text result) const {
    machine.make(result.size());
    return {std::move(result), self.is_markup};
  }
};

Value list_of_texts(const Call& call, std::vector<Text> texts) {
  std::vector<Value> items;
  for (Text& text : texts) items.push_back(call.made(std::move(text)));
  return Value::sequence(std::move(items));
}

Value strip(const Call& call) {
  const Bound bound = call.bound({"chars"});
  const bool has_set = bound.has(0) && !bound[0].is_none();
  if (has_set && bound.text(0).empty()) return call.made(call.text());
  const Side side = call.name == "lstrip"   ? Side::kLeft
                    : call.name == "rstrip" ? Side::kRight
                                            : Side::kBoth;
  return call.made(
      Text(stripped(call.text(), has_set ? TextView(bound.text(0)) : TextView(), side)));
}

Value split_text(const Call& call) {
  const Bound bound = call.bound({"sep", "maxsplit"});
  const bool has_separator = bound.has(0) && !bound[0].is_none();
  if (has_separator && bound.text(0).empty()) {
    fail(ErrorKind::kUnsupported, call.name + ": expected a separator of at least one character");
  }
  const TextView separator = has_separator ? TextView(bound.text(0)) : TextView();
  return list_of_texts(call,
                       split(call.text(), separator, bound.integer(1, -1), call.name == "rsplit"));
}

Value split_lines_of(const Call& call) {
  return list_of_texts(call, split_lines(call.text(), call.bound({"keepends"}).flag(0)));
}

Value partition(const Call& call) {
  const Text& separator = call.bound({"sep"}).text(0);
  if (separator.empty()) fail(ErrorKind::kUnsupported, call.name + ": expected a separator");
  const bool is_last = call.name == "rpartition";
  const std::size_t at = is_last ? call.text().rfind(separator) : call.text().find(separator);
  std::array<Text, 3> parts;
  if (at == Text::npos) {
    parts[is_last ? 2 : 0] = call.text();
  } else {
    parts = {call.text().substr(0, at), call.text().substr(at, separator.size()),
             call.text().substr(at + separator.size())};
  }
  return Value::sequence({call.made(parts[0]), call.made(parts[1]), call.made(parts[2])},
                         SequenceKind::kTuple);
}

/// The part of the text between two positions, as str.find() takes them.
TextView part_of(const Call& call, const Bound& bound, std::size_t& begin) {
  const auto size = static_cast<std::int64_t>(call.text().size());
  const auto place = [&](std::size_t i, std::int64_t usual) {
    if (bound.has(i) && bound[i].is_none()) return usual;
    const std::int64_t at = bound.integer(i, usual);
    return std::clamp(at < 0 ? std::max(at, -size) + size : at, std::int64_t{0}, size);
  };
  begin = static_cast<std::size_t>(place(1, 0));
  const auto end = static_cast<std::size_t>(place(2, size));
  return TextView(call.text()).substr(begin, end > begin ? end - begin : 0);
}

Value starts_or_ends(const Call& call) {
  const Bound bound = call.bound({"prefix", "start", "end"});
  std::size_t begin = 0;
  const TextView part = part_of(call, bound, begin);
  const auto is_there = [&](const Value& value) {
    if (value.string() == nullptr) fail_type(call.name + ": a text or a tuple of texts", value);
    const Text& wanted = value.string()->text;
    return call.name == "startswith" ? part.starts_with(wanted) : part.ends_with(wanted);
  };
  const Sequence* all = bound[0].sequence();
  if (all != nullptr && all->kind == SequenceKind::kTuple)
    return std::ranges::any_of(all->items, is_there);
  return is_there(bound[0]);
}

Value find_text(const Call& call) {
  const Bound bound = call.bound({"sub", "start", "end"});
  std::size_t begin = 0;
  const TextView part = part_of(call, bound, begin);
  const bool is_last = call.name == "rfind" || call.name == "rindex";
  const std::size_t at = is_last ? part.rfind(bound.text(0)) : part.find(bound.text(0));
  const bool must_be_there = call.name == "index" || call.name == "rindex";
  if (at == TextView::npos && must_be_there)
    fail(ErrorKind::kUnsupported, call.name + ": the text is not there");
  return at == TextView::npos ? std::int64_t{-1} : static_cast<std::int64_t>(begin + at);
}

Value count_text(const Call& call) {
  const Bound bound = call.bound({"sub", "start", "end"});
  std::size_t begin = 0;
  TextView part = part_of(call, bound, begin);
  const Text& wanted = bound.text(0);
  if (wanted.empty()) return static_cast<std::int64_t>(part.size() + 1);
  std::int64_t count = 0;
  for (std::size_t at = part.find(wanted); at != TextView::npos; at = part.find(wanted)) {
    ++count;
    part.remove_prefix(at + wanted.size());
  }
  return count;
}

Value replace(const Call& call) {
  const Bound bound = call.bound({"old", "new", "count"});
  return call.made(
      replaced(call.text(), bound.text(0), bound.text(1), bound.integer(2, -1), kMaxCharacters));
}

Value remove_side(const Call& call) {
  const Text& affix = call.bound({"affix"}).text(0);
  const TextView text = call.text();
  const bool is_prefix = call.name == "removeprefix";
  const bool is_there = is_prefix ? text.starts_with(affix) : text.ends_with(affix);
  if (!is_there) return call.made(call.text());
  return call.made(
      Text(is_prefix ? text.substr(affix.size()) : text.substr(0, text.size() - affix.size())));
}

Value join(const Call& call) {
  const Bound bound = call.bound({"iterable"});
  Text text;
  bool is_first = true;
  for (const Value& item : items_of(bound[0])) {
    if (item.string() == nullptr) fail_type("join: texts", item);
    if (!is_first) text += call.text();
    is_first = false;
    text += call.self.is_markup && !item.string()->is_markup ? escaped(item.string()->text)
                                                             : item.string()->text;
    check_size(text.size());
  }
  return call.made(std::move(text));
}

Value pad(const Call& call) {
  const bool is_zeros = call.name == "zfill";
  const Bound bound = call.bound({"width", "fillchar"});
  const auto width = static_cast<std::size_t>(std::max(bound.integer(0, 0), std::int64_t{0}));
  check_size(width);
  const Text fill = bound.has(1) ? bound.text(1) : Text(1, is_zeros ? U'0' : U' ');
  if (fill.size() != 1)
    fail(ErrorKind::kUnsupported, call.name + ": expected one character to fill with");
  Text text = call.text();
  if (text.size() >= width) return call.made(std::move(text));
  const std::size_t missing = width - text.size();
  if (is_zeros) {
    const bool has_sign = !text.empty() && (plain(text[0]) == U'-' || plain(text[0]) == U'+');
    text.insert(has_sign ? 1 : 0, Text(missing, U'0'));
  } else if (call.name == "center") {
    const std::size_t left = missing / 2 + (missing & width & 1);
    text = Text(left, fill[0]) + text + Text(missing - left, fill[0]);
  } else {
    text.insert(call.name == "ljust" ? text.size() : 0, Text(missing, fill[0]));
  }
  return call.made(std::move(text));
}

Value in_case(const Call& call) {
  (void)call.bound({});
  if (call.name == "upper") return call.made(upper(call.text()));
  if (call.name == "lower") return call.made(lower(call.text()));
  if (call.name == "title") return call.made(title(call.text()));
  return call.made(capitalized(call.text()));
}

Value is_kind(const Call& call) {
  (void)call.bound({});
  const Text& text = call.text();
  const auto all = [&](auto is) { return !text.empty() && std::ranges::all_of(text, is); };
  if (call.name == "isspace") return all(is_space);
  if (call.name == "isalpha") return all(is_letter);
  if (call.name == "isalnum") return all([](char32_t c) { return is_letter(c) || is_decimal(c); });
  if (call.name == "isdigit" || call.name == "isdecimal" || call.name == "isnumeric")
    return all(is_decimal);
  const bool is_upper_wanted = call.name == "isupper";
  return std::ranges::any_of(text, is_upper_wanted ? is_upper : is_lower) &&
         std::ranges::none_of(text, is_upper_wanted ? is_lower : is_upper);
}

/// The value of a field of str.format(): {}, {0}, {name}.
const Value& field(const Call& call, const std::string& name, std::size_t& next) {
  const bool is_number = std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) {
    const std::size_t index = name.empty()      ? next++
                              : name.size() > 4 ? std::string::npos
                                                : std::stoul(name);
    if (index < call.arguments.positional.size()) return call.arguments.positional[index];
  }
  for (const auto& [known, value] : call.arguments.named) {
    if (known == name) return value;
  }
  const bool is_plain = name.find_first_of(".[!:") == std::string::npos;
  fail(ErrorKind::kUnsupported, is_plain ? "format: there is no argument '" + name + "'"
                                         : "format: the field '{" + name + "}' is not supported");
}

Value format(const Call& call) {
  Text result;
  const Text& text = call.text();
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char32_t c = plain(text[i]);
    const bool is_brace = c == U'{' || c == U'}';
    if (!is_brace || (i + 1 < text.size() && plain(text[i + 1]) == c)) {
      result.push_back(text[i]);
      i += is_brace ? 1 : 0;
      continue;
    }
    const std::size_t end = c == U'{' ? text.find(U'}', i) : Text::npos;
    if (end == Text::npos) fail(ErrorKind::kUnsupported, "format: a single '{' or '}'");
    const Value& value = field(call, to_utf8_text(TextView(text).substr(i + 1, end - i - 1)), next);
    result += to_text(value);
    check_size(result.size());
    i = end;
  }
  return call.made(std::move(result));
}

struct Method {
  std::string_view name;
  Value (*run)(const Call&);
};

constexpr std::array<Method, 36> kMethods = {{
    {"strip", strip},
    {"lstrip", strip},
    {"rstrip", strip},
    {"split", split_text},
    {"rsplit", split_text},
    {"splitlines", split_lines_of},
    {"partition", partition},
    {"rpartition", partition},
    {"startswith", starts_or_ends},
    {"endswith", starts_or_ends},
    {"find", find_text},
    {"rfind", find_text},
    {"index", find_text},
    {"rindex", find_text},
    {"count", count_text},
    {"replace", replace},
    {"removeprefix", remove_side},
    {"removesuffix", remove_side},
    {"join", join},
    {"ljust", pad},
    {"rjust", pad},
    {"center", pad},
    {"zfill", pad},
    {"upper", in_case},
    {"lower", in_case},
    {"title", in_case},
    {"capitalize", in_case},
    {"isspace", is_kind},
    {"isalpha", is_kind},
    {"isalnum", is_kind},
    {"isdigit", is_kind},
    {"isdecimal", is_kind},
    {"isnumeric", is_kind},
    {"isupper", is_kind},
    {"islower", is_kind},
    {"format", format},
}};

constexpr std::array<std::string_view, 11> kOtherMethods = {
    "casefold",    "encode",  "expandtabs", "format_map", "isascii",  "isidentifier",
    "isprintable", "istitle", "maketrans",  "swapcase",   "translate"};

}  // namespace

Value method_of_text(const Value& text, const std::string& name) {
  const auto* found = std::ranges::find(kMethods, name, &Method::name);
  if (found != kMethods.end()) {
    return Callable{name,
                    [text, run = found->run, name](Machine& machine, const Arguments& arguments) {
                      machine.work(text.nesting().size);
                      return run({machine, *text.string(), arguments, name});
                    }};
  }
  if (std::ranges::find(kOtherMethods, name) != kOtherMethods.end()) {
    fail(ErrorKind::kUnsupported, "the method '" + name + "' of texts is not supported");
  }
  return {};
}

Text escaped(TextView text) {
  Text result;
  for (const char32_t c : text) {
    const char32_t mark = c & kFromMessage;
    std::string_view name;
    if (plain(c) == U'&') name = "&amp;";
    if (plain(c) == U'<') name = "&lt;";
    if (plain(c) == U'>') name = "&gt;";
    if (plain(c) == U'\'') name = "&#39;";
    if (plain(c) == U'"') name = "&#34;";
    if (name.empty()) result.push_back(c);
    for (const char letter : name)
      result.push_back(char32_t{static_cast<unsigned char>(letter)} | mark);
  }
  return result;
}

}  // namespace halftone::lm::jinja
