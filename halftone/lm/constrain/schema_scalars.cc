// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/number_range.h"
#include "halftone/lm/constrain/schema_parts.h"

namespace halftone::lm {
namespace {

std::optional<double> bound_of(const Schema& schema, const char* key) {
  if (!schema.contains(key)) return std::nullopt;
  return schema[key].get<double>();
}

/// Takes a bound that does not count itself, where it is the narrower one.
void take_exclusive(std::optional<double>& bound, bool& is_exclusive,
                    std::optional<double> exclusive, double sign) {
  if (!exclusive || (bound && sign * *bound > sign * *exclusive)) return;
  bound = exclusive;
  is_exclusive = true;
}

NumberBounds bounds_of(const Schema& schema) {
  NumberBounds bounds{bound_of(schema, "minimum"), bound_of(schema, "maximum")};
  take_exclusive(bounds.least, bounds.is_above_least, bound_of(schema, "exclusiveMinimum"), 1);
  take_exclusive(bounds.most, bounds.is_below_most, bound_of(schema, "exclusiveMaximum"), -1);
  return bounds;
}

/// What numbers are multiples of; 0: any are good.
double step_of(const Schema& schema, const std::string& where) {
  if (!schema.contains("multipleOf")) return 0;
  const Schema& step = schema["multipleOf"];
  if (step.is_number() && step.get<double>() > 0) return step.get<double>();
  fail_schema(where, "multipleOf: expected a number above 0, found " + step.dump());
}

bool is_within(double number, const NumberBounds& bounds) {
  return (!bounds.least || number > *bounds.least ||
          (number == *bounds.least && !bounds.is_above_least)) &&
         (!bounds.most || number < *bounds.most ||
          (number == *bounds.most && !bounds.is_below_most));
}

/// Validators divide in float64, where 0.3 is no multiple of 0.1.
bool is_multiple(double number, double step) { return number / step == std::floor(number / step); }

/// "-0.25" of -25 and 2.
std::string decimal_text(long long number, std::size_t digits) {
  std::string text = std::to_string(std::abs(number));
  if (digits > 0) {
    if (text.size() <= digits) text.insert(0, digits + 1 - text.size(), '0');
    text.insert(text.size() - digits, 1, '.');
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return number < 0 ? "-" + text : text;
}

/// All multiples that validators find, where these are few.
Choices listed_multiples(const SchemaScope& scope, double step, const NumberBounds& bounds,
                         bool is_integer, const std::string& where) {
  constexpr std::size_t kMaxStepDigits = 6;
  constexpr double kMaxMultiples = 1000;
  constexpr double kMaxNumber = 1e12;
  std::size_t digits = 0;
  double scale = 1;
  while (digits < kMaxStepDigits && std::round(step * scale) / scale != step) {
    ++digits;
    scale *= 10;
  }
  const bool is_good = std::round(step * scale) / scale == step && bounds.least && bounds.most &&
                       std::abs(*bounds.least) < kMaxNumber && std::abs(*bounds.most) < kMaxNumber;
  if (!is_good || (*bounds.most - *bounds.least) / step > kMaxMultiples) {
    schema_unsupported(where, "'multipleOf' " + Schema(step).dump() + " of more than 1000 numbers");
  }
  const auto unit = static_cast<long long>(std::round(step * scale));
  Choices all;
  const auto last = static_cast<long long>(std::ceil(*bounds.most / step)) + 1;
  for (auto i = static_cast<long long>(std::floor(*bounds.least / step)) - 1; i <= last; ++i) {
    const auto number = static_cast<double>(i * unit) / scale;
    if (!is_within(number, bounds) || (is_integer && number != std::floor(number))) continue;
    if (!is_multiple(number, step)) continue;
    all.push_back(scope.grammar.text(decimal_text(i * unit, digits))[0]);
  }
  return all;
}

/// Few multiples, or those of whole numbers, halves and quarters, where validators divide without
/// rounding.
Choices multiples(const SchemaScope& scope, double step, const NumberBounds& bounds,
                  bool is_integer, const std::string& where) {
  constexpr double kMaxListed = 1000;
  constexpr double kMaxStep = 1000;
  const auto is_whole = [](double number) { return number == std::floor(number); };
  const bool are_few =
      bounds.least && bounds.most && (*bounds.most - *bounds.least) / step <= kMaxListed;
  if (are_few || !is_whole(step * 4) || step > kMaxStep) {
    return listed_multiples(scope, step, bounds, is_integer, where);
  }
  double whole = step;
  while (!is_whole(whole)) whole *= 2;
  return at_place(where, [&] {
    std::vector<Choices> all{
        multiples_between(scope.grammar, static_cast<std::int64_t>(whole), 0, bounds)};
    const int decimals = is_whole(step * 10) ? 1 : 2;
    const auto units = static_cast<std::int64_t>(step * (decimals == 1 ? 10 : 100));
    if (whole != step && !is_integer) {
      all.push_back(multiples_between(scope.grammar, units, decimals, bounds));
    }
    return Grammar::either(std::move(all));
  });
}

}  // namespace

std::size_t count_of(const Schema& schema, const std::string& key, std::size_t missing,
                     const std::string& where) {
  if (!schema.contains(key)) return missing;
  const Schema& value = schema[key];
  double number = value.is_number() ? value.get<double>() : -1;
  // Fewer fit as well.
  constexpr double kMaxItems = 10'000;
  const bool is_length = key == "maxLength";
  const auto most = is_length ? static_cast<double>(Grammar::kMaxRepeat) : kMaxItems;
  if (key.starts_with("max")) number = std::min(number, most);
  if (number >= 0 && number == std::floor(number) &&
      number <= static_cast<double>(Grammar::kMaxRepeat)) {
    return static_cast<std::size_t>(number);
  }
  fail_schema(where, key + ": expected an integer from 0 to " +
                         std::to_string(Grammar::kMaxRepeat) + ", found " + value.dump());
}

bool allows_number(const Schema& schema, double number, const std::string& where) {
  const double step = step_of(schema, where);
  return is_within(number, bounds_of(schema)) && (step == 0 || is_multiple(number, step));
}

Choices number_choices(const SchemaScope& scope, const Schema& schema, const std::string& where,
                       bool is_integer) {
  const double step = step_of(schema, where);
  if (step == 1) is_integer = true;
  const NumberBounds bounds = bounds_of(schema);
  if (step != 0 && step != 1) return multiples(scope, step, bounds, is_integer, where);
  if (!bounds.least && !bounds.most) {
    return is_integer ? scope.json.integer() : scope.json.number();
  }
  return at_place(where, [&] {
    return is_integer ? integers_between(scope.grammar, bounds)
                      : numbers_between(scope.grammar, bounds);
  });
}

}  // namespace halftone::lm
