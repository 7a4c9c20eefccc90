// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/access.h"

namespace halftone::lm::jinja {
namespace {

[[noreturn]] void fail_operands(const std::string& name, const Value& a, const Value& b) {
  for (const Value& each : {a, b}) {
    if (each.is_undefined()) fail(ErrorKind::kUnsupported, each.as<Undefined>().what);
  }
  fail(ErrorKind::kUnsupported,
       "'" + type_name(a) + "' " + name + " '" + type_name(b) + "': there is no such operation");
}

std::int64_t checked(bool overflows, std::int64_t value) {
  if (overflows) fail(ErrorKind::kUnsupported, "an integer goes beyond 64 bits");
  return value;
}

std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
  if (b == -1) return checked(a == std::numeric_limits<std::int64_t>::min(), b == -1 ? -a : a);
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t remainder(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) {
      const bool overflows = __builtin_mul_overflow(result, base, &result);
      checked(overflows, result);
    }
    if (exponent > 1) {
      const bool overflows = __builtin_mul_overflow(base, base, &base);
      checked(overflows, base);
    }
  }
  return result;
}

Value of_integers(const std::string& name, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  if (name == "+") overflows = __builtin_add_overflow(a, b, &result);
  if (name == "-") overflows = __builtin_sub_overflow(a, b, &result);
  if (name == "*") overflows = __builtin_mul_overflow(a, b, &result);
  if (name == "+" || name == "-" || name == "*") return checked(overflows, result);
  if (name == "**")
    return b < 0 ? Value(std::pow(static_cast<double>(a), static_cast<double>(b)))
                 : Value(power(a, b));
  if (b == 0) fail(ErrorKind::kUnsupported, "a division by zero");
  if (name == "/") return static_cast<double>(a) / static_cast<double>(b);
  return name == "//" ? floor_divided(a, b) : remainder(a, b);
}

Value of_numbers(const std::string& name, double a, double b) {
  if (name == "+") return a + b;
  if (name == "-") return a - b;
  if (name == "*") return a * b;
  if (name == "**") return std::pow(a, b);
  if (b == 0) fail(ErrorKind::kUnsupported, "a division by zero");
  if (name == "/") return a / b;
  const double rest = std::fmod(a, b);
  const double modulo = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  return name == "//" ? std::floor(a / b) : modulo;
}

Value added_texts(Machine& machine, const String& a, const String& b) {
  const bool is_markup = a.is_markup || b.is_markup;
  const auto part = [&](const String& s) {
    return is_markup && !s.is_markup ? escaped(s.text) : s.text;
  };
  Text text = part(a) + part(b);
  machine.make(text.size());
  return {std::move(text), is_markup};
}

Value repeated(Machine& machine, const Value& value, std::int64_t count) {
  const std::size_t times = count < 0 ? 0 : static_cast<std::size_t>(count);
  const std::size_t size = length_of(value);
  check_size(times);
  check_size(times * size);
  machine.work(times);
  if (const String* string = value.string()) {
    Text text;
    for (std::size_t i = 0; i < times; ++i) text += string->text;
    machine.make(text.size());
    return {std::move(text), string->is_markup};
  }
  machine.work(times * size);
  std::vector<Value> items;
  for (std::size_t i = 0; i < times; ++i) {
    items.insert(items.end(), value.sequence()->items.begin(), value.sequence()->items.end());
  }
  return Value::sequence(std::move(items), value.sequence()->kind);
}

bool is_list(const Value& value) {
  return value.sequence() != nullptr && (value.sequence()->kind == SequenceKind::kList ||
                                         value.sequence()->kind == SequenceKind::kTuple);
}

}  // namespace

Value binary(Machine& machine, const std::string& name, const Value& a, const Value& b) {
  machine.work();
  if (name == "%" && a.string() != nullptr) {
    return {formatted(machine, a.string()->text, b), a.string()->is_markup};
  }
  if (a.is_integer() && b.is_integer()) return of_integers(name, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return of_numbers(name, a.number(), b.number());
  if (name == "+" && a.string() != nullptr && b.string() != nullptr) {
    return added_texts(machine, *a.string(), *b.string());
  }
  if (name == "+" && is_list(a) && is_list(b) && a.sequence()->kind == b.sequence()->kind) {
    std::vector<Value> items = a.sequence()->items;
    items.insert(items.end(), b.sequence()->items.begin(), b.sequence()->items.end());
    machine.work(items.size());
    return Value::sequence(std::move(items), a.sequence()->kind);
  }
  const auto repeats = [](const Value& value) {
    return value.string() != nullptr || is_list(value);
  };
  if (name == "*" && repeats(a) && b.is_integer()) return repeated(machine, a, b.integer());
  if (name == "*" && repeats(b) && a.is_integer()) return repeated(machine, b, a.integer());
  fail_operands(name, a, b);
}

bool contains(Machine& machine, const Value& container, const Value& value) {
  if (const String* string = container.string()) {
    if (value.string() == nullptr) fail_type("a text to look for in a text", value);
    machine.work(container.nesting().size);
    return string->text.find(value.string()->text) != Text::npos;
  }
  if (const Dict* dict = container.dict()) {
    machine.work(dict->items.size());
    return dict->find(value) != nullptr;
  }
  const bool has_items = container.is_undefined() || container.sequence() != nullptr;
  if (!has_items) fail_type("something with items behind 'in'", container);
  machine.work(container.nesting().size);
  return std::ranges::any_of(items_of(container),
                             [&](const Value& item) { return is_equal(item, value); });
}

bool compare(Machine& machine, const std::string& name, const Value& a, const Value& b) {
  machine.work(std::min(a.nesting().size, b.nesting().size));
  if (name == "==") return is_equal(a, b);
  if (name == "!=") return !is_equal(a, b);
  if (name == "in") return contains(machine, b, a);
  if (name == "not in") return !contains(machine, b, a);
  const bool are_numbers = a.is<double>() || b.is<double>();
  const bool has_nan = are_numbers && a.is_number() && b.is_number() &&
                       (std::isnan(a.number()) || std::isnan(b.number()));
  if (has_nan) return false;
  if (name == "<") return is_less(a, b);
  if (name == ">") return is_less(b, a);
  return name == "<=" ? !is_less(b, a) : !is_less(a, b);
}

}  // namespace halftone::lm::jinja
