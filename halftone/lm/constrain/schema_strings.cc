// SPDX-License-Identifier: Apache-2.0
// Strings that schemas allow.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/pattern.h"
#include "halftone/lm/constrain/schema_parts.h"

namespace halftone::lm {
namespace {

using Id = RegularSets::Id;

/// Texts of formats: RFC 3339 without leap days, RFC 4122, and plain forms of RFC 5321, 1123, 3986.
constexpr std::string_view kDate =
    R"((?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01]))"
    R"(|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8])))";
constexpr std::string_view kTime =
    R"((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))";
/// RFC 3339, appendix A.
constexpr std::string_view kTimeSpan =
    R"(T(?:\d{1,4}H(?:\d{1,4}M(?:\d{1,4}S)?)?|\d{1,4}M(?:\d{1,4}S)?|\d{1,4}S))";
constexpr std::string_view kDateSpan =
    R"((?:\d{1,4}Y(?:\d{1,4}M(?:\d{1,4}D)?)?|\d{1,4}M(?:\d{1,4}D)?|\d{1,4}D))";
constexpr std::string_view kHost = R"([a-z0-9]{1,30}(?:\.[a-z0-9]{1,30}){0,5}\.[a-z]{2,10})";

/// The regular expression of a format; empty if a format is a comment only.
std::string pattern_of_format(std::string_view format) {
  const std::string octet = R"((?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5]))";
  if (format == "date") return std::string(kDate);
  if (format == "time") return std::string(kTime);
  if (format == "date-time") return std::string(kDate) + "T" + std::string(kTime);
  if (format == "uuid") return R"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})";
  if (format == "email") return R"([a-z0-9]{1,30}(?:\.[a-z0-9]{1,30}){0,3}@)" + std::string(kHost);
  if (format == "hostname") return std::string(kHost);
  if (format == "ipv4") return octet + R"((?:\.)" + octet + "){3}";
  if (format == "ipv6") return "[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){7}";
  if (format == "duration") {
    const std::string time(kTimeSpan);
    return R"(P(?:\d{1,4}W|)" + std::string(kDateSpan) + "(?:" + time + ")?|" + time + ")";
  }
  if (format == "uri") return "https?://" + std::string(kHost) + R"((?:/[A-Za-z0-9_.~/-]*)?)";
  return "";
}

/// Where a length counts beside a pattern, longer texts than these are left out: each takes a
/// state.
constexpr std::size_t kMaxCounted = 4096;

Id set_of_pattern(const SchemaScope& scope, const Schema& pattern, const std::string& where) {
  return at_place(where, [&] { return pattern_set(scope.sets, pattern.get<std::string>()); });
}

/// The texts of all patterns of a schema.
Id set_of_patterns(const SchemaScope& scope, const Schema& schema, const std::string& where) {
  std::vector<Id> all;
  if (schema.contains("pattern")) all.push_back(set_of_pattern(scope, schema["pattern"], where));
  for (const Schema& each : schema.value(kMorePatterns, Schema::array())) {
    all.push_back(set_of_pattern(scope, each, where));
  }
  return scope.sets.both(std::move(all));
}

/// The texts of a format, if it is known.
std::optional<Id> set_of_format(const SchemaScope& scope, const Schema& schema) {
  if (!schema.contains("format") || !schema["format"].is_string()) return std::nullopt;
  const std::string pattern = pattern_of_format(schema["format"].get<std::string>());
  if (pattern.empty()) return std::nullopt;
  return pattern_set(scope.sets, "^(?:" + pattern + ")$");
}

Id content(const SchemaScope& scope, const Schema& schema, const std::string& where) {
  std::size_t least = count_of(schema, "minLength", 0, where);
  std::size_t most = count_of(schema, "maxLength", kUnbounded, where);
  if (most < least) return scope.sets.none();
  Id set = set_of_patterns(scope, schema, where);
  if (const auto format = set_of_format(scope, schema)) {
    // A format that no text of the pattern has is a comment to it.
    const Id both = scope.sets.both({set, *format});
    const bool is_comment =
        set != scope.sets.all() && at_place(where, [&] { return scope.sets.is_none(both); });
    if (!is_comment) set = both;
  }
  for (const Schema& each : schema.value(kExcluded, Schema::array())) {
    set = scope.sets.both({set, scope.sets.all_but(string_set(scope, each, where))});
  }
  // Lengths that all texts have need no counting.
  if (least <= scope.sets.shortest(set)) least = 0;
  if (most >= scope.sets.longest(set)) most = kUnbounded;
  if (least == 0 && most == kUnbounded) return set;
  if (set != scope.sets.all() && most != kUnbounded) {
    most = std::min(most, std::max(least, kMaxCounted));
  }
  const Id any = scope.sets.characters({{0, kLastCharacter}});
  return scope.sets.both({set, scope.sets.repeat(any, least, most)});
}

}  // namespace

RegularSets::Id string_set(const SchemaScope& scope, const Schema& schema,
                           const std::string& where) {
  if (schema.is_boolean()) return schema == true ? scope.sets.all() : scope.sets.none();
  if (!schema.is_object()) fail_schema(where, "expected a schema, found " + schema.dump());
  check_kinds(schema, where);
  if (schema.contains("type")) {
    const std::vector<std::string> types = types_of(schema, where);
    if (std::ranges::count(types, "string") == 0) return scope.sets.none();
  }
  const Schema values = values_of(schema);
  const Id set = content(scope, schema, where);
  if (values.is_null()) return set;
  std::vector<Id> texts;
  for (const Schema& each : values) {
    if (each.is_string()) texts.push_back(scope.sets.text(each.get<std::string>()));
  }
  return scope.sets.both({set, scope.sets.either(std::move(texts))});
}

Choices text_choices(const SchemaScope& scope, RegularSets::Id set) {
  if (set == scope.sets.all()) return scope.json.string();
  return scope.json.quoted(scope.sets.choices(set, scope.grammar, [&](CharacterRanges ranges) {
    return scope.json.characters(std::move(ranges));
  }));
}

Choices string_choices(const SchemaScope& scope, const Schema& schema, const std::string& where) {
  const RegularSets::Id set = string_set(scope, schema, where);
  return at_place(where, [&] { return text_choices(scope, set); });
}

}  // namespace halftone::lm
