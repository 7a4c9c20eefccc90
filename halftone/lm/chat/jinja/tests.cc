// SPDX-License-Identifier: Apache-2.0
// What stands behind `is`.
#include <algorithm>
#include <array>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/access.h"
#include "halftone/lm/chat/jinja/filters.h"

namespace halftone::lm::jinja {
namespace {

bool is_plain_list(const Value& value) {
  const Sequence* sequence = value.sequence();
  return sequence != nullptr && sequence->kind != SequenceKind::kView &&
         sequence->kind != SequenceKind::kGenerator;
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.string() != nullptr || value.sequence() != nullptr ||
         value.dict() != nullptr;
}

bool is_sequence(const Value& value) {
  return value.is_undefined() || value.string() != nullptr || is_plain_list(value) ||
         value.dict() != nullptr;
}

bool is_integer(const Value& value) { return value.is<std::int64_t>(); }

std::int64_t modulo(const Value& value, std::int64_t by) {
  if (!value.is_integer()) fail_type("a test of integers: an integer", value);
  if (by == 0) fail(ErrorKind::kUnsupported, "a division by zero");
  return by == -1 ? 0 : value.integer() % by;
}

bool is_in_case(const Value& value, const char* method) {
  const Text text = to_text(value);
  const bool is_upper_wanted = std::string_view(method) == "upper";
  return std::ranges::any_of(text, is_upper_wanted ? is_upper : is_lower) &&
         std::ranges::none_of(text, is_upper_wanted ? is_lower : is_upper);
}

struct Plain {
  std::string_view name;
  bool (*holds)(const Value&);
};

constexpr std::array<Plain, 21> kPlain = {{
    {"defined", [](const Value& v) { return !v.is_undefined(); }},
    {"undefined", [](const Value& v) { return v.is_undefined(); }},
    {"none", [](const Value& v) { return v.is_none(); }},
    {"boolean", [](const Value& v) { return v.is<bool>(); }},
    {"true", [](const Value& v) { return v.is<bool>() && v.as<bool>(); }},
    {"false", [](const Value& v) { return v.is<bool>() && !v.as<bool>(); }},
    {"integer", is_integer},
    {"float", [](const Value& v) { return v.is<double>(); }},
    {"number", [](const Value& v) { return v.is_number(); }},
    {"string", [](const Value& v) { return v.string() != nullptr; }},
    {"mapping", [](const Value& v) { return v.dict() != nullptr; }},
    {"iterable", is_iterable},
    {"sequence", is_sequence},
    {"callable", [](const Value& v) { return v.callable() != nullptr || v.is_undefined(); }},
    {"escaped", [](const Value& v) { return v.string() != nullptr && v.string()->is_markup; }},
    {"odd", [](const Value& v) { return modulo(v, 2) != 0; }},
    {"even", [](const Value& v) { return modulo(v, 2) == 0; }},
    {"lower", [](const Value& v) { return is_in_case(v, "lower"); }},
    {"upper", [](const Value& v) { return is_in_case(v, "upper"); }},
    {"filter",
     [](const Value& v) {
       const std::string name = to_utf8_text(to_text(v));
       return value_filter(name) != nullptr || sequence_filter(name) != nullptr;
     }},
    {"test", [](const Value& v) { return is_test(to_utf8_text(to_text(v))); }},
}};

/// Tests that compare, with the operators that they represent.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kCompared = {{
    {"eq", "=="},
    {"equalto", "=="},
    {"==", "=="},
    {"ne", "!="},
    {"!=", "!="},
    {"lt", "<"},
    {"lessthan", "<"},
    {"<", "<"},
    {"le", "<="},
    {"<=", "<="},
    {"gt", ">"},
    {"greaterthan", ">"},
    {">", ">"},
    {"ge", ">="},
    {">=", ">="},
    {"in", "in"},
}};

/// Whether they are one object; equal numbers and texts count as one.
bool is_same_object(const Value& a, const Value& b) {
  if (a.sequence() != nullptr) return a.sequence() == b.sequence();
  if (a.dict() != nullptr) return a.dict() == b.dict();
  return type_name(a) == type_name(b) && is_equal(a, b);
}

}  // namespace

bool is_test(const std::string& name) {
  return std::ranges::find(kPlain, name, &Plain::name) != kPlain.end() ||
         std::ranges::any_of(kCompared, [&](const auto& each) { return each.first == name; }) ||
         name == "divisibleby" || name == "sameas";
}

bool passes(Machine& machine, const std::string& name, const Value& value,
            const Arguments& arguments) {
  machine.work();
  const std::string what = "test " + name;
  if (const auto* plain_test = std::ranges::find(kPlain, name, &Plain::name);
      plain_test != kPlain.end()) {
    const Bound bound(what, arguments, {});
    return plain_test->holds(value);
  }
  for (const auto& [test, operation] : kCompared) {
    if (test != name) continue;
    const Bound bound(what, arguments, {"other"});
    return compare(machine, std::string(operation), value, bound[0]);
  }
  if (name == "divisibleby") {
    return modulo(value, Bound(what, arguments, {"num"}).integer(0, 0)) == 0;
  }
  if (name == "sameas") return is_same_object(value, Bound(what, arguments, {"other"})[0]);
  fail(ErrorKind::kUnsupported, "there is no test '" + name + "'");
}

}  // namespace halftone::lm::jinja
