// SPDX-License-Identifier: Apache-2.0
// Functions that every template has.
#include <algorithm>
#include <array>
#include <clocale>
#include <ctime>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/access.h"
#include "halftone/lm/chat/jinja/filters.h"

namespace halftone::lm::jinja {
namespace {

Value range(Machine& machine, const Arguments& arguments) {
  constexpr std::size_t kMost = 100'000;  // as Jinja's sandbox
  const Bound bound("range", arguments, {"start", "stop", "step"});
  const bool has_stop = bound.has(1);
  const std::int64_t start = has_stop ? bound.integer(0, 0) : 0;
  (void)bound[0];
  const std::int64_t stop = has_stop ? bound.integer(1, 0) : bound.integer(0, 0);
  const std::int64_t step = bound.integer(2, 1);
  if (step == 0) fail(ErrorKind::kUnsupported, "range: a step of zero");
  std::vector<Value> items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (items.size() == kMost)
      fail(ErrorKind::kUnsupported, "range: expected at most 100000 numbers");
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  machine.work(items.size());
  return Value::sequence(std::move(items), SequenceKind::kRange);
}

/// The items of a dict, or of pairs, and the named arguments.
Dict dict_of(const std::string& name, const Arguments& arguments) {
  if (arguments.positional.size() > 1)
    fail(ErrorKind::kUnsupported, name + ": expected one dict at most");
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (const Dict* other = source.dict()) {
      dict.items = other->items;
    } else {
      for (const Value& pair : items_of(source)) {
        const std::vector<Value> both = items_of(pair);
        if (both.size() != 2) fail_type(name + ": pairs of a key and a value", pair);
        dict.set(both[0], both[1]);
      }
    }
  }
  for (const auto& [key, value] : arguments.named) dict.set(Value::text(key), value);
  return dict;
}

Value dict(Machine& machine, const Arguments& arguments) {
  Dict result = dict_of("dict", arguments);
  machine.work(result.items.size());
  return result;
}

Value new_namespace(Machine& machine, const Arguments& arguments) {
  auto names = std::make_shared<Namespace>();
  names->attributes = dict_of("namespace", arguments);
  machine.work(names->attributes.items.size());
  for (const auto& [key, value] : names->attributes.items) {
    if (value.nesting().holds_scopes) fail_type("namespace: values", value);
  }
  return names;
}

Value raise_exception(Machine& /*machine*/, const Arguments& arguments) {
  const Bound bound("raise_exception", arguments, {"message"});
  fail(ErrorKind::kUsage, to_utf8_text(to_text(bound[0])));
}

Value strftime_now(Machine& machine, const Arguments& arguments) {
  const std::string format = to_utf8_text(Bound("strftime_now", arguments, {"format"}).text(0));
  constexpr std::string_view kKnown = "aAbBcdeHIjmMpSuUVwWxXyYGFTDRhn%t";
  for (std::size_t i = format.find('%'); i != std::string::npos; i = format.find('%', i + 2)) {
    const bool is_known =
        i + 1 < format.size() && kKnown.find(format[i + 1]) != std::string_view::npos;
    if (!is_known)
      fail(ErrorKind::kUnsupported, "strftime_now: '" + format.substr(i, 2) + "' is not supported");
  }
  std::array<char, 1024> buffer{};
  // In English, whatever the locale of the program.
  static const ::locale_t kEnglish = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const std::size_t size =
      ::strftime_l(buffer.data(), buffer.size(), format.c_str(), &machine.now(), kEnglish);
  if (size == 0 && !format.empty())
    fail(ErrorKind::kUnsupported, "strftime_now: the format is too long");
  return Value::text(std::string_view(buffer.data(), size));
}

template <const char* kName>
Value refuse(Machine& /*machine*/, const Arguments& /*arguments*/) {
  fail(ErrorKind::kUnsupported, std::string("the function '") + kName + "' is not supported");
}
constexpr char kCycler[] = "cycler";
constexpr char kJoiner[] = "joiner";
constexpr char kLipsum[] = "lipsum";

struct GlobalFunction {
  std::string_view name;
  Value (*call)(Machine&, const Arguments&);
};
constexpr std::array<GlobalFunction, 8> kFunctions = {{
    {"range", range},
    {"dict", dict},
    {"namespace", new_namespace},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
    {kCycler, refuse<kCycler>},
    {kJoiner, refuse<kJoiner>},
    {kLipsum, refuse<kLipsum>},
}};

}  // namespace

Value global_function(const std::string& name) {
  const auto* found = std::ranges::find(kFunctions, name, &GlobalFunction::name);
  if (found == kFunctions.end()) return Value::undefined("'" + name + "' is undefined");
  return Callable{name, found->call};
}

}  // namespace halftone::lm::jinja
