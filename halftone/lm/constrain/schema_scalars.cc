// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/number_range.h"
#include "halftone/lm/constrain/pattern.h"
#include "halftone/lm/constrain/schema_parts.h"

namespace halftone::lm {
namespace {

/// Texts of formats: RFC 3339 without leap days, RFC 4122, and plain forms of RFC 5321, 1123, 3986.
constexpr std::string_view kDate =
    R"((?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01]))"
    R"(|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8])))";
constexpr std::string_view kTime =
    R"((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))";
constexpr std::string_view kHost = R"([a-z0-9]{1,30}(?:\.[a-z0-9]{1,30}){0,5}\.[a-z]{2,10})";

/// The regular expression of a format; empty if a format is a comment only.
std::string pattern_of_format(const std::string& format) {
  const std::string octet = R"((?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5]))";
  if (format == "date") return std::string(kDate);
  if (format == "time") return std::string(kTime);
  if (format == "date-time") return std::string(kDate) + "T" + std::string(kTime);
  if (format == "uuid") return R"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})";
  if (format == "email") return R"([a-z0-9]{1,30}(?:\.[a-z0-9]{1,30}){0,3}@)" + std::string(kHost);
  if (format == "hostname") return std::string(kHost);
  if (format == "ipv4") return octet + R"((?:\.)" + octet + "){3}";
  if (format == "uri")
    return "https?://" + std::string(kHost) + R"((?:/[A-Za-z0-9_.~-]{0,60}){0,9})";
  return "";
}

Choices content_by_pattern(const SchemaScope& scope, std::string_view pattern,
                           const LengthBounds& lengths, const std::string& where) {
  const CharacterChoices characters = [&](std::vector<CharacterRange> ranges) {
    return scope.json.characters(std::move(ranges));
  };
  return with_context("JSON schema, at '" + where + "'",
                      [&] { return pattern_choices(scope.grammar, pattern, characters, lengths); });
}

std::optional<double> bound_of(const Schema& schema, const char* key, const std::string& where) {
  if (!schema.contains(key)) return std::nullopt;
  if (schema[key].is_number()) return schema[key].get<double>();
  fail_schema(where, std::string(key) + ": expected a number, found " + schema[key].dump());
}

/// Takes a bound that does not count itself, where it is the narrower one.
void take_exclusive(std::optional<double>& bound, bool& is_exclusive,
                    std::optional<double> exclusive, double sign) {
  if (!exclusive || (bound && sign * *bound > sign * *exclusive)) return;
  bound = exclusive;
  is_exclusive = true;
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

/// All multiples that validators find, which are few.
Choices multiples_between(const SchemaScope& scope, double step, const NumberBounds& bounds,
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
    schema_unsupported(where, "'multipleOf' other than 1 of more than 1000 numbers");
  }
  const auto unit = static_cast<long long>(std::round(step * scale));
  Choices all;
  const auto last = static_cast<long long>(std::ceil(*bounds.most / step)) + 1;
  for (auto i = static_cast<long long>(std::floor(*bounds.least / step)) - 1; i <= last; ++i) {
    const auto number = static_cast<double>(i * unit) / scale;
    if (!is_within(number, bounds) || (is_integer && number != std::floor(number))) continue;
    // Validators divide in float64, where 0.3 is no multiple of 0.1.
    if (number / step != std::floor(number / step)) continue;
    all.push_back(scope.grammar.text(decimal_text(i * unit, digits))[0]);
  }
  return all;
}

}  // namespace

std::size_t count_of(const Schema& schema, const std::string& key, std::size_t missing,
                     const std::string& where) {
  if (!schema.contains(key)) return missing;
  const Schema& value = schema[key];
  double number = value.is_number() ? value.get<double>() : -1;
  // Fewer fit as well.
  if (key.starts_with("max")) number = std::min(number, static_cast<double>(Grammar::kMaxRepeat));
  if (number >= 0 && number == std::floor(number) &&
      number <= static_cast<double>(Grammar::kMaxRepeat)) {
    return static_cast<std::size_t>(number);
  }
  fail_schema(where, key + ": expected an integer from 0 to " +
                         std::to_string(Grammar::kMaxRepeat) + ", found " + value.dump());
}

Choices string_choices(const SchemaScope& scope, const Schema& schema, const std::string& where) {
  const std::size_t least = count_of(schema, "minLength", 0, where);
  const std::size_t most = count_of(schema, "maxLength", kUnbounded, where);
  if (most < least) return {};
  // Beside a pattern, a format only describes what the pattern says.
  if (schema.contains("pattern")) {
    const Schema& pattern = schema["pattern"];
    if (!pattern.is_string()) fail_schema(where, "pattern: expected a string");
    return scope.json.quoted(
        content_by_pattern(scope, pattern.get<std::string>(), {least, most}, where));
  }
  std::string format;
  if (schema.contains("format") && schema["format"].is_string()) {
    format = pattern_of_format(schema["format"].get<std::string>());
  }
  if (!format.empty()) {
    return scope.json.quoted(
        content_by_pattern(scope, "^(?:" + format + ")$", {least, most}, where));
  }
  if (least == 0 && most == kUnbounded) return scope.json.string();
  return scope.json.quoted(
      scope.grammar.repeat(scope.json.characters({{0, kLastCharacter}}), least, most));
}

Choices number_choices(const SchemaScope& scope, const Schema& schema, const std::string& where,
                       bool is_integer) {
  const double step = step_of(schema, where);
  if (step == 1) is_integer = true;
  NumberBounds bounds{bound_of(schema, "minimum", where), bound_of(schema, "maximum", where)};
  take_exclusive(bounds.least, bounds.is_above_least, bound_of(schema, "exclusiveMinimum", where),
                 1);
  take_exclusive(bounds.most, bounds.is_below_most, bound_of(schema, "exclusiveMaximum", where),
                 -1);
  if (step != 0 && step != 1) return multiples_between(scope, step, bounds, is_integer, where);
  if (!bounds.least && !bounds.most) {
    return is_integer ? scope.json.integer() : scope.json.number();
  }
  return with_context("JSON schema, at '" + where + "'", [&] {
    return is_integer ? integers_between(scope.grammar, bounds)
                      : numbers_between(scope.grammar, bounds);
  });
}

}  // namespace halftone::lm
