// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/json_schema.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "halftone/base/testing.h"
#include "halftone/lm/constrain/number_range.h"
#include "halftone/lm/constrain/testing.h"

namespace halftone::lm {
namespace {

void expect_schema(const char* schema, const std::vector<std::string>& in,
                   const std::vector<std::string>& out) {
  expect_texts(grammar_of_schema(schema), schema, in, out);
}

TEST(JsonSchema, GivesObjectsWithMembersInOrder) {
  expect_schema(
      R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"},
             "c": {"type": "null"}}, "required": ["b"]})",
      {R"({"a":1,"b":true,"c":null})", R"({"b": false})", R"({ "a": -10, "b": true })",
       "{\n  \"b\": true,\n  \"c\": null\n}"},
      {"{}", R"({"a":1})", R"({"b":true,"a":1})", R"({"b":true,"d":1})", R"({"a":01,"b":true})"});
}

TEST(JsonSchema, GivesOtherMembersWhereTheyAreAllowed) {
  expect_schema(
      R"({"properties": {"ab": {"const": 1}}, "additionalProperties": {"type": "string"}})",
      {"{}", R"({"ab":1})", R"({"ab":1,"abc":"x","":"y"})", R"({"a":"x"})"},
      {R"({"ab":"x"})", R"({"ab":1,"c":2})", R"({"ab":1,"ab":"x"})"});
  expect_schema(R"({"type": "object", "maxProperties": 2})",
                {"{}", R"({"a":1})", R"({"a":[],"b":{"c":"d"}})"}, {R"({"a":1,"b":2,"c":3})"});
}

TEST(JsonSchema, GivesListsAndTuples) {
  expect_schema(R"({"type": "array", "items": {"enum": [1, "x"]}, "minItems": 2, "maxItems": 3})",
                {R"([1,1])", R"([1, "x", 1])"}, {"[]", "[1]", "[1,1,1,1]", "[1,2]"});
  expect_schema(R"({"prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}})",
                {"[]", "[1]", "[1,2]", "[1,2,3,3]"}, {"[2]", "[1,3]", "[1,2,4]"});
  expect_schema(
      R"({"items": [{"const": 1}, {"const": 2}], "additionalItems": false, "minItems": 1})",
      {"[1]", "[1,2]"}, {"[]", "[1,2,3]"});
}

TEST(JsonSchema, FollowsReferencesToItself) {
  expect_schema(R"({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {
             "left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}}}})",
                {"{}", R"({"left":{"left":{},"right":{}}})", R"({"right":{"left":{}}})"},
                {R"({"left":1})", R"({"left":{)"});
  expect_schema(R"({"type": "array", "items": {"$ref": "#"}})", {"[]", "[[],[[]]]"}, {"[1]"});
  expect_schema(R"({"$ref": "#/$defs/a%20~1b", "$defs": {"a /b": {"const": 1}}})", {"1"}, {"2"});
}

TEST(JsonSchema, ChoosesAmongBranches) {
  expect_schema(R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]})",
                {"7", "\"ab\"", "\"\xC3\xA9\xC3\xA9\""}, {"\"abc\"", "null"});
  expect_schema(R"({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
             "allOf": [{"properties": {"n": {"minimum": 3}}},
                       {"properties": {"m": {"const": 0}}, "required": ["m"]}]})",
                {R"({"n":3,"m":0})"}, {R"({"n":2,"m":0})", R"({"n":3})"});
  expect_schema(R"({"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}},
                        "required": ["kind"]},
                       {"type": "object", "properties": {"kind": {"const": "b"},
                        "size": {"type": "integer"}}, "required": ["kind"]}]})",
                {R"({"kind":"a"})", R"({"kind":"b","size":4})"}, {R"({"kind":"a","size":4})"});
  expect_schema(R"({"type": ["string", "null"]})", {"null", "\"\""}, {"1"});
}

TEST(JsonSchema, WritesStringsAsJsonDoes) {
  expect_schema(R"({"pattern": "^[\"\\\\\n]{2}é$"})", {R"("\"\\é")", R"("\n\"é")"},
                {R"("""é")", "\"\n\nx\""});
  expect_schema(R"({"type": "string", "format": "date"})", {"\"2024-02-28\"", "\"0001-12-31\""},
                {"\"2024-02-30\"", "\"2024-13-01\"", "\"0000-01-01\""});
  expect_schema(R"({"type": "string", "format": "uuid"})",
                {"\"123e4567-e89b-12d3-a456-426614174000\""}, {"\"123\""});
  expect_schema(R"({"type": "string", "format": "of-nobody"})", {"\"anything\""}, {"1"});
}

TEST(JsonSchema, BoundsIntegers) {
  for (const auto& [least, most] :
       {std::pair(0, 9), {-3, 105}, {17, 1234}, {-250, -7}, {99, 100}}) {
    const Grammar grammar =
        grammar_of_schema(R"({"type":"integer","minimum":)" + std::to_string(least) +
                          R"(,"maximum":)" + std::to_string(most) + "}");
    for (int i = -1300; i <= 1300; ++i) {
      EXPECT_EQ(accepts(grammar, std::to_string(i)), least <= i && i <= most) << i;
    }
    EXPECT_FALSE(accepts(grammar, "-0"));
    EXPECT_FALSE(accepts(grammar, "00"));
  }
  expect_schema(R"({"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991})",
                {"0", "-999999999999999", "999999999999999"},
                {"9007199254740992", "-9007199254740992"});
  expect_schema(R"({"type": "integer", "exclusiveMinimum": 0, "maximum": 18446744073709551615})",
                {"1", "999999999999999999"}, {"0", "-1", "18446744073709551616"});
  expect_schema(R"({"type": "integer", "exclusiveMinimum": 4.5})", {"5", "123456789"}, {"4", "-5"});
}

TEST(JsonSchema, BoundsNumbers) {
  struct Case {
    const char* schema;
    double least;
    double most;
  };
  for (const Case& each :
       {Case{R"({"type":"number","minimum":-0.5,"maximum":0.5})", -0.5, 0.5},
        Case{R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1})", 1e-300, 1 - 1e-16},
        Case{R"({"type":"number","minimum":2.25})", 2.25, INFINITY},
        Case{R"({"type":"number","minimum":1288.5700000000002,"maximum":1289})", 1288.5700000000002,
             1289},
        Case{R"({"type":"number","minimum":1e-20,"maximum":0.1})", 1e-20, 0.1},
        Case{
            R"({"type":"number","minimum":-3.4028234663852886e38,"maximum":3.4028234663852886e38})",
            -3.5e38, 3.5e38},
        Case{R"({"type":"number","maximum":-3})", -INFINITY, -3},
        Case{R"({"type":"number","minimum":99.9,"exclusiveMaximum":1000})", 99.9, 1000 - 1e-13}}) {
    const Grammar grammar = grammar_of_schema(each.schema);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const std::string text = random_text(grammar, seed);
      const double number = nlohmann::json::parse(text).get<double>();
      EXPECT_LE(each.least, number) << text << each.schema;
      EXPECT_GE(each.most, number) << text << each.schema;
    }
  }
  expect_schema(R"({"type":"number","minimum":-0.5,"maximum":0.5})",
                {"0", "0.5", "-0.5", "0.0", "-0.25", "0.4999"}, {"1", "0.51", "-0.50001", "5e-1"});
}

TEST(JsonSchema, HasMultiples) {
  expect_schema(R"({"type": "integer", "multipleOf": 5, "minimum": -5, "exclusiveMaximum": 15})",
                {"-5", "0", "5", "10"}, {"15", "-10", "3", "5.0"});
  expect_schema(R"({"multipleOf": 0.25, "minimum": 0, "maximum": 1})",
                {"0", "0.25", "0.5", "0.75", "1"}, {"0.2", "1.25"});
  expect_schema(R"({"type": "integer", "multipleOf": 0.5, "minimum": 0, "maximum": 1})", {"0", "1"},
                {"0.5"});
  expect_schema(R"({"type": "integer", "multipleOf": 7})", {"0", "-7", "14", "7000000000000007"},
                {"1", "-0", "15", "07"});
  expect_schema(R"({"multipleOf": 0.5, "minimum": -1.2, "exclusiveMaximum": 1000})",
                {"-1", "-1.0", "0.5", "999.5", "999"}, {"-1.5", "0.7", "1000.0", "0.50"});
  for (const auto& [step, least, most] :
       {std::tuple(3, -1300, 1300), {60, -7, 1234}, {25, 1, 99}, {7, -99, -15}, {1, -5, 1001}}) {
    Grammar grammar;
    const Symbol root = grammar.declare("root");
    grammar.define(root, multiples_between(grammar, step, 0, {least, most}));
    grammar.set_root(root);
    for (int i = -1400; i <= 1400; ++i) {
      const bool is_good = i % step == 0 && least <= i && i <= most;
      EXPECT_EQ(accepts(grammar, std::to_string(i)), is_good) << i << " " << step;
    }
  }
  expect_schema(R"({"multipleOf": 0.1, "minimum": 0, "maximum": 0.5})",
                {"0", "0.1", "0.2", "0.4", "0.5"}, {"0.3", "0.25"});
}

TEST(JsonSchema, HasRulesForNames) {
  expect_schema(
      R"({"propertyNames": {"type": "string"}, "additionalProperties": {"type": "null"}})",
      {"{}", R"({"any": null})"}, {R"({"any": 1})"});
  expect_schema(R"({"propertyNames": {"enum": ["a", "b", 3]}, "additionalProperties": {"const": 1},
                    "required": ["b"]})",
                {R"({"a": 1, "b": 1})", R"({"b": 1})"},
                {"{}", R"({"a": 1})", R"({"b": 1, "c": 1})", R"({"b": 2})"});
  expect_schema(R"({"propertyNames": {"pattern": "^x+$"}, "additionalProperties": {"const": 1}})",
                {"{}", R"({"x": 1, "xx": 1})"}, {R"({"y": 1})"});
  expect_schema(R"({"propertyNames": {"$ref": "#/$defs/K"}, "additionalProperties": {"const": 1},
                    "$defs": {"K": {"enum": ["k"]}}})",
                {"{}", R"({"k": 1})"}, {R"({"y": 1})"});
  expect_schema(
      R"({"patternProperties": {"^x-": {"type": "boolean"}}, "additionalProperties": false})",
      {"{}", R"({"x-a": true})"}, {R"({"a": true})", R"({"x-a": 1})"});
}

TEST(JsonSchema, HasPatternsBesideLengthsAndFormats) {
  expect_schema(R"({"pattern": "^[a-z][a-z0-9]*$", "minLength": 2, "maxLength": 3})",
                {R"("ab")", R"("a12")"}, {R"("a")", R"("abcd")", R"("1a")"});
  expect_schema(R"({"pattern": "^\\d{5}$", "maxLength": 9})", {R"("12345")"}, {R"("1234")"});
  expect_schema(R"({"pattern": "^ab|^.{4}$", "maxLength": 3})", {R"("ab")", R"("abc")"},
                {R"("abcd")"});
  expect_schema(R"({"pattern": "^[0-9a-f]{2}$", "format": "uuid"})", {R"("a0")"}, {R"("a")"});
  expect_schema(R"({"maxLength": 1000000})", {R"("a")"}, {"1"});
}

TEST(JsonSchema, HasSeveralRulesForOneString) {
  expect_schema(R"({"allOf": [{"pattern": "a"}, {"pattern": "b"}, {"pattern": "^.{0,3}$"}]})",
                {R"("ab")", R"("cba")"}, {R"("aa")", R"("abcd")"});
  expect_schema(R"({"pattern": "a", "maxLength": 3})", {R"("a")", R"("bac")"},
                {R"("bb")", R"("aaaa")"});
  expect_schema(R"({"pattern": "^[a-z]+(-[a-z]+)*$", "minLength": 3, "maxLength": 5})",
                {R"("a-b")", R"("abc")", R"("a-b-c")"}, {R"("ab")", R"("a-b-")", R"("abcdef")"});
  expect_schema(R"({"pattern": "^2", "format": "date"})", {R"("2024-02-28")"},
                {R"("1999-01-01")", R"("2")"});
  expect_schema(R"({"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083})",
                {R"("https://ab.de/f/g.html")"}, {R"("ab.de")"});
  expect_schema(R"({"type": "string", "format": "duration", "maxLength": 4})",
                {R"("P1D")", R"("PT1H")"}, {R"("P1DT1H")", R"("P")"});
  expect_schema(R"({"type": "string", "enum": ["a", "bc", "def"], "minLength": 2})",
                {R"("bc")", R"("def")"}, {R"("a")"});
  expect_schema(R"({"const": 1, "enum": [1, 2]})", {"1"}, {"2"});
  expect_schema(R"({"enum": [1, 2, "x", null], "minimum": 2})", {"2", R"("x")", "null"}, {"1"});
  expect_schema(R"({"oneOf": [{"type": "string", "format": "date"},
                              {"type": "string", "pattern": "^x"}]})",
                {R"("2024-01-01")", R"("xy")"}, {R"("y")"});
}

TEST(JsonSchema, LeavesOutWhatNotSays) {
  expect_schema(R"({"type": "string", "not": {"enum": ["ab", "é"]}})", {R"("a")", R"("abc")"},
                {R"("ab")", R"("é")", "1"});
  expect_schema(R"({"type": "string", "maxLength": 2, "not": {"pattern": "^a"}})",
                {R"("")", R"("ba")"}, {R"("a")", R"("bbb")"});
  expect_schema(R"({"not": {"type": ["object", "array", "string"]}})", {"1", "null", "true"},
                {"{}", R"("")"});
  expect_schema(R"({"type": ["boolean", "null"], "not": {"const": null}})", {"true"}, {"null"});
  expect_schema(R"({"not": {"pattern": "^a"}})", {R"("b")"}, {R"("a")", "1"});
  expect_schema(R"({"enum": [1, 2, "a"], "not": {"anyOf": [{"const": 1}, {"type": "string"}]}})",
                {"2"}, {"1", R"("a")"});
  expect_schema(R"({"type": ["string", "null"], "not": {"$ref": "#/$defs/e"},
                    "$defs": {"e": {"const": ""}}})",
                {"null", R"("a")"}, {R"("")"});
  expect_schema(R"({"allOf": [{"type": "string", "maxLength": 1}, {"not": {"const": "a"}},
                              {"not": {"const": "b"}}]})",
                {R"("c")", R"("")"}, {R"("a")", R"("b")"});
  expect_schema(R"({"properties": {"a": {"not": {}}, "b": {"const": 1}}})", {"{}", R"({"b":1})"},
                {R"({"a":1})"});
}

TEST(JsonSchema, HasMembersThatRequireOrExcludeOthers) {
  const char* one_of =
      R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}},
          "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})";
  expect_schema(one_of, {R"({"a":1})", R"({"b":2,"c":3})"},
                {"{}", R"({"a":1,"b":2})", R"({"c":3})"});
  for (const char* key : {"dependentRequired", "dependencies"}) {
    const std::string schema =
        R"({"properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, ")" +
        std::string(key) + R"(": {"a": ["b"], "c": ["a"]}})";
    expect_schema(schema.c_str(),
                  {"{}", R"({"b":2})", R"({"a":1,"b":2})", R"({"a":1,"b":2,"c":3})"},
                  {R"({"a":1})", R"({"c":3})", R"({"b":2,"c":3})"});
  }
}

TEST(JsonSchema, HasItemsOnceEach) {
  expect_schema(R"({"items": {"enum": ["a", "b", 1, 1.0]}, "uniqueItems": true, "minItems": 1})",
                {R"(["a"])", R"(["b", "a"])", R"([1,"b","a"])"},
                {"[]", R"(["a","a"])", R"(["b","a","b"])", R"(["c"])"});
  expect_schema(R"({"items": {"type": "boolean"}, "uniqueItems": true})",
                {"[]", "[true]", "[false,true]"}, {"[true,true]"});
  expect_schema(R"({"items": {"$ref": "#/$defs/k"}, "uniqueItems": true, "maxItems": 2,
                    "$defs": {"k": {"enum": [1, 2, 3]}}})",
                {"[1,2]", "[3]"}, {"[1,1]", "[1,2,3]"});
}

TEST(JsonSchema, HasPatternsOfNames) {
  expect_schema(
      R"({"properties": {"id": {"const": 1}, "x-id": {"type": "integer"}}, "required": ["id", "x-q"],
          "patternProperties": {"^x-": {"not": {"type": "string"}}, "z$": {"maximum": 3}},
          "additionalProperties": {"const": "other"}})",
      {R"({"id":1,"x-q":2})", R"({"id":1,"x-id":5,"x-q":2,"x-z":3,"az":-1,"y":"other"})"},
      {R"({"id":1})", R"({"id":1,"x-q":"other"})", R"({"id":1,"x-q":2,"x-z":4})",
       R"({"id":1,"x-q":2,"az":"other"})", R"({"id":1,"x-q":2,"y":2})"});
  expect_schema(R"({"propertyNames": {"enum": ["b", "ab"]}, "patternProperties": {"^a": {}}})",
                {"{}", R"({"ab":1})"}, {R"({"a":1})"});
  expect_schema(R"({"unevaluatedProperties": false})", {"{}"}, {R"({"a":1})"});
  expect_schema(R"({"properties": {"a": {"const": 1}}, "additionalProperties": {"const": 2},
                    "propertyNames": {"maxLength": 2}})",
                {R"({"a":1,"bc":2})", "{}"}, {R"({"abc":2})", R"({"a":2})"});
  expect_schema(R"({"allOf": [{"properties": {"a": {}}, "additionalProperties": {"type": "null"}},
                              {"properties": {"b": {}}}]})",
                {R"({"a":1,"b":null})"}, {R"({"b":1})"});
  expect_schema(R"({"allOf": [{"patternProperties": {"^x": {}}}, {"properties": {"xa": {}},
                              "additionalProperties": false}]})",
                {"{}"}, {R"({"xb":1})"});
  expect_schema(R"({"additionalProperties": {"const": 1}, "minProperties": 1})", {R"({"a":1})"},
                {"{}"});
  expect_schema(R"({"properties": {"a": {}, "b": {}}, "minProperties": 1})",
                {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"}, {"{}"});
}

TEST(JsonSchema, GivesTextsThatAreJson) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::string text = random_text(grammar_of_json_objects(), seed);
    if (text.empty()) continue;
    EXPECT_TRUE(nlohmann::json::parse(text).is_object()) << text;
  }
}

TEST(JsonSchema, SaysWhereItIsWrong) {
  const auto check = [](const char* schema, ErrorKind kind, const char* message) {
    expect_error(kind, message, [&] { (void)grammar_of_schema(schema); });
  };
  check("{", ErrorKind::kFormat, "JSON schema");
  check("3", ErrorKind::kFormat, "at '#': expected a schema, found 3");
  check(R"({"type": "integr"})", ErrorKind::kFormat, R"(found "integr")");
  check(R"({"properties": {"a": {"minLength": -1}}})", ErrorKind::kFormat,
        "at '#/properties/a': minLength: expected an integer from 0 to 100000, found -1");
  check(R"({"properties": []})", ErrorKind::kFormat, "properties: expected an object");
  check(R"({"required": "a"})", ErrorKind::kFormat, "required: expected a list of names");
  check(R"({"enum": 3})", ErrorKind::kFormat, "enum: expected a list");
  check(R"({"anyOf": []})", ErrorKind::kFormat, "anyOf: expected a list of schemas");
  check(R"({"allOf": 1})", ErrorKind::kFormat, "allOf: expected a list");
  check(R"({"pattern": 1})", ErrorKind::kFormat, "pattern: expected a string");
  check(R"({"pattern": "("})", ErrorKind::kFormat, "at '#': pattern '('");
  check(R"({"minimum": "1"})", ErrorKind::kFormat, "minimum: expected a number");
  check(R"({"prefixItems": 1})", ErrorKind::kFormat, "prefixItems: expected a list");
  check(R"({"$ref": "#/nothing"})", ErrorKind::kFormat, "expected a part of the schema");
  check(R"({"$ref": "#/%zz"})", ErrorKind::kFormat, "expected a part of the schema, found '#/%zz'");
  check(R"({"$ref": "other.json"})", ErrorKind::kUnsupported, "other than '#/...'");
  check(R"({"not": {}})", ErrorKind::kUsage, "expected one that texts can fit");
  check(R"({"not": {"required": ["a"]}})", ErrorKind::kUnsupported, "'not' of 'required'");
  check(R"({"type": "number", "not": {"const": 1}})", ErrorKind::kUnsupported,
        "'not' of some values of the type 'number'");
  check(R"({"uniqueItems": true})", ErrorKind::kUnsupported, "'uniqueItems'");
  check(R"({"multipleOf": 0.3})", ErrorKind::kUnsupported, "'multipleOf' 0.3 of more than 1000");
  check(R"({"minProperties": 2})", ErrorKind::kUnsupported, "'minProperties'");
  check(R"({"properties": {"a": {}, "b": {}}, "maxProperties": 1})", ErrorKind::kUnsupported,
        "'maxProperties' below the number of members");
  check(R"({"properties": {"a": {}}, "additionalProperties": true, "maxProperties": 1})",
        ErrorKind::kUnsupported, "'maxProperties' of named and other members");
  check(R"({"patternProperties": 1})", ErrorKind::kFormat, "patternProperties: expected an object");
  check(R"({"propertyNames": {"not": {"const": "a"}}})", ErrorKind::kUnsupported,
        "'propertyNames' with 'not'");
  check(R"({"pattern": "(?:(a|b)*a(a|b){30}){3}", "maxLength": 200})", ErrorKind::kUnsupported,
        "too many states");
  check(R"({"multipleOf": 0})", ErrorKind::kFormat, "multipleOf: expected a number above 0");
  check(R"({"enum": ["a"], "minLength": 3})", ErrorKind::kUsage, "expected one that texts can fit");
  check(R"({"enum": [{}], "required": ["a"]})", ErrorKind::kUnsupported, "beside 'required'");
  check(R"({"oneOf": [{"type": "number"}, {"type": "integer"}]})", ErrorKind::kUnsupported,
        "branches 0 and 1 a value may fit both");
  check(R"({"anyOf": [{}], "oneOf": [{}]})", ErrorKind::kUnsupported, "'anyOf' beside 'oneOf'");
  check(R"({"allOf": [{"$ref": "#"}]})", ErrorKind::kUnsupported, "refers to itself in 'allOf'");
  check(R"({"additionalProperties": true, "unevaluatedProperties": false})",
        ErrorKind::kUnsupported, "'unevaluatedProperties'");
  check(R"({"allOf": [{"unevaluatedProperties": false}, {"properties": {"a": {}}}]})",
        ErrorKind::kUnsupported, "'unevaluatedProperties' in a part");
  check(R"({"const": {"a": 1}, "unevaluatedProperties": false})", ErrorKind::kUnsupported,
        "beside 'unevaluatedProperties'");
  check(R"({"minimum": 1e30})", ErrorKind::kUnsupported, "expected at most 15 digits");
  check(R"({"$ref": "#"})", ErrorKind::kUsage, "expected one that texts can fit");
  check(R"({"type": "integer", "minimum": 3, "maximum": 2})", ErrorKind::kUsage,
        "expected one that texts can fit");
  std::string deep = "{}";
  for (int i = 0; i < 10'000; ++i) deep = R"({"items":)" + deep + "}";
  expect_error(ErrorKind::kFormat, "JSON schema", [&] { (void)grammar_of_schema(deep); });
}

}  // namespace
}  // namespace halftone::lm
