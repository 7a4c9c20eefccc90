// SPDX-License-Identifier: Apache-2.0
// What is right here is what Jinja 3.1 writes; chat_templates_test.py compares many more.
#include "halftone/lm/chat/jinja/template.h"

#include "halftone/base/testing.h"
#include "halftone/lm/chat/jinja/json.h"

namespace halftone::lm::jinja {
namespace {

/// 2023-11-14, 22:13:20.
std::tm now() {
  std::tm time{};
  time.tm_year = 123;
  time.tm_mon = 10;
  time.tm_mday = 14;
  time.tm_wday = 2;
  time.tm_hour = 22;
  return time;
}

Text rendered(std::string_view source, const std::string& json = "{}") {
  const Value all = from_json(json, true);
  Variables variables;
  for (const auto& [key, value] : all.dict()->items) {
    variables.emplace_back(to_utf8_text(key.string()->text), value);
  }
  return Template(source).render(variables, now());
}

std::string text(std::string_view source, const std::string& json = "{}") {
  return to_utf8_text(rendered(source, json));
}

void expect_refused(ErrorKind kind, const std::string& message, std::string_view source) {
  expect_error(kind, message, [&] { (void)text(source); });
}

TEST(JinjaTemplate, TakesWhiteSpaceAsItsTagsSay) {
  EXPECT_EQ(text("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(text("a {%- if true -%} b {%+ endif +%}\nc"), "ab \nc");
  EXPECT_EQ(text("  {{ 1 }}\n {{- 2 -}} \n3"), "  123");
  EXPECT_EQ(text("a {# {{ #}\nb\r\nc"), "a b\nc");
  EXPECT_EQ(text("{% raw -%} {{ x }} {%- endraw %}\n."), "{{ x }}.");
  EXPECT_EQ(text("{{ {'a': {'b': 1}} }}"), "{'a': {'b': 1}}");
}

TEST(JinjaTemplate, EvaluatesAsPython) {
  EXPECT_EQ(text("{{ 7 // -2 }} {{ -7 % 3 }} {{ 1 / 2 }} {{ 2 ** 3 }} {{ 1e16 }} {{ 0.1 + 0.2 }}"),
            "-4 2 0.5 8 1e+16 0.30000000000000004");
  EXPECT_EQ(text("{{ 'a' ~ 1 ~ none ~ true }} {{ [1, 'x\\'y', (2,)] }}"),
            "a1NoneTrue [1, \"x'y\", (2,)]");
  EXPECT_EQ(text("{{ 1 < 2 < 3 }} {{ 'a' in 'ab' }} {{ 3 not in [1] }} {{ not 0 }}"),
            "True True True True");
  EXPECT_EQ(text("{{ 'abcde'[::-2] }} {{ [1, 2, 3][-2:] }} {{ 'x' if false }}|{{ 'é'|length }}"),
            "eca [2, 3] |1");
  EXPECT_EQ(
      text("{{ x.y is defined }} {{ x['items'] }} {{ x.get('z', 3) }}", R"({"x": {"items": 5}})"),
      "False 5 3");
  EXPECT_EQ(text("{{ '%+.2f %g %.1E' % (1.005, 1e-5, 12345.6) }} {{ 2.345|round(2) }}"),
            "+1.00 1e-05 1.2E+04 2.35");
  EXPECT_EQ(text("{{ '%s-%03d' % ('a', 7) }} {{ '{}{x}'.format(1, x=2) }}"), "a-007 12");
}

TEST(JinjaTemplate, KeepsNamesInTheirScopes) {
  EXPECT_EQ(
      text("{% set a = 1 %}{% for i in [1, 2] %}{% set a = a + i %}{{ a }}{% endfor %}{{ a }}"),
      "231");
  EXPECT_EQ(text("{% set n = namespace(a=1) %}{% for i in [1, 2] %}{% set n.a = n.a + i %}"
                 "{% endfor %}{{ n.a }}"),
            "4");
  EXPECT_EQ(text("{% macro m(a, b=2) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{% set c = 3 %}"
                 "{{ m(1) }} {{ m(b=5, a=4) }}"),
            "123 453");
  EXPECT_EQ(
      text("{% macro m() %}<{{ caller(1) }}>{% endmacro %}{% call(x) m() %}{{ x }}{% endcall %}"),
      "<1>");
  EXPECT_EQ(text("{% for a, b in {'x': 1, 'y': 2}.items() if b > 1 %}{{ a }}{{ loop.length }}"
                 "{% else %}none{% endfor %}"),
            "y1");
  EXPECT_EQ(text("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i == 3 %}{% break %}"
                 "{% endif %}{{ i }}{% endfor %}"),
            "02");
  EXPECT_EQ(text("{% for i in [[1, [2]]] recursive %}{% for j in i %}{{ j if j is number else "
                 "loop.depth }}{% endfor %}{% endfor %}"),
            "11");
}

TEST(JinjaTemplate, HasFiltersAndTests) {
  EXPECT_EQ(text("{{ x|tojson }}", R"({"x": {"b": ["é", 1.5, null], "a": "\"\n"}})"),
            "{\"b\": [\"é\", 1.5, null], \"a\": \"\\\"\\n\"}");
  EXPECT_EQ(text("{{ [1]|tojson(indent=2) }}"), "[\n  1\n]");
  EXPECT_EQ(text("{{ m|selectattr('r', 'equalto', 'u')|map(attribute='c')|join(', ') }}",
                 R"({"m": [{"r": "u", "c": "a"}, {"r": "v", "c": "b"}, {"r": "u", "c": "d"}]})"),
            "a, d");
  EXPECT_EQ(text("{{ 'a\nb'|indent }} {{ ' x '|trim }} {{ y|default('z') }} {{ 2.5|round }}"),
            "a\n    b x z 2.0");
  EXPECT_EQ(text("{{ {'b': 1, 'A': 2}|dictsort|first }} {{ [3, 1]|sort|last }}"), "('A', 2) 3");
  EXPECT_EQ(text("{{ 'x' is string and {} is mapping and 1 is not none and y is undefined }}"),
            "True");
  EXPECT_EQ(text("{% if [] | map('upper') %}a generator is true{% endif %}"),
            "a generator is true");
  EXPECT_EQ(text("{{ strftime_now('%d %b %Y') }}"), "14 Nov 2023");
}

TEST(JinjaTemplate, KnowsWhatAMessageBrought) {
  const Text found = rendered("a{{ (x[1:] ~ 'b')|upper|replace('C', 'dd') }}", R"({"x": "xyc"})");
  EXPECT_EQ(to_utf8_text(found), "aYddB");
  std::string origins;
  for (const char32_t c : found) origins += (c & kFromMessage) != 0 ? 'm' : 't';
  EXPECT_EQ(origins, "tmttt");
}

TEST(JinjaTemplate, SaysWhatItDoesNotFollow) {
  expect_refused(ErrorKind::kFormat, "line 2: expected '}}', found '1'", "a\n{{ x 1 }}");
  expect_refused(ErrorKind::kFormat, "expected {% endif %}", "{% if x %}");
  expect_refused(ErrorKind::kFormat, "a comment does not end", "{# x");
  expect_refused(ErrorKind::kUnsupported, "the tag 'include' is not supported",
                 "{% include 'x' %}");
  expect_refused(ErrorKind::kUnsupported, "line 1: the filter 'urlize' is not supported",
                 "{{ 'x'|urlize }}");
  expect_refused(ErrorKind::kUnsupported, "there is no filter 'nothing'", "{{ 'x'|nothing }}");
  expect_refused(ErrorKind::kUnsupported, "the method 'encode' of texts", "{{ 'x'.encode() }}");
  expect_refused(ErrorKind::kUnsupported, "'x' is undefined", "{{ x.y }}");
  expect_refused(ErrorKind::kUnsupported, "'append' changes a list", "{{ [].append(1) }}");
  expect_refused(ErrorKind::kUsage, "line 3: no roles", "\n\n{{ raise_exception('no roles') }}");
}

TEST(JinjaTemplate, IsBounded) {
  expect_refused(ErrorKind::kUnsupported, "too many steps",
                 "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}");
  expect_refused(ErrorKind::kUnsupported, "texts become too large", "{{ 'x' * 99999999999 }}");
  expect_refused(ErrorKind::kUnsupported, "texts become too large",
                 "{% set n = namespace(x='xx') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}"
                 "{% endfor %}");
  expect_refused(ErrorKind::kUnsupported, "lists and dicts in each other",
                 "{% set n = namespace(x=[]) %}{% for i in range(999) %}{% set n.x = [n.x] %}"
                 "{% endfor %}{{ n.x }}");
  expect_refused(ErrorKind::kUnsupported, "becomes too large",
                 "{% set n = namespace(x=[]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}"
                 "{% endfor %}{{ n.x == n.x }}");
  for (const std::string cut : {".split('a')", ".splitlines()", "|list"}) {
    expect_refused(ErrorKind::kUnsupported, "more than a million parts",
                   "{{ ('a\n' * 2000000)" + cut + " }}");
  }
  expect_refused(ErrorKind::kUnsupported, "calls itself too often",
                 "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
  expect_refused(ErrorKind::kFormat, "in each other",
                 "{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}");
  std::string sum = "{{ 1";
  for (int i = 0; i < 5000; ++i) sum += " + 1";
  expect_refused(ErrorKind::kFormat, "operators in each other", sum + " }}");
}

}  // namespace
}  // namespace halftone::lm::jinja
