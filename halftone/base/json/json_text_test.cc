// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/json/json_text.h"

#include <string>

#include "halftone/base/testing.h"

namespace halftone {
namespace {

TEST(JsonText, TakesWhatIsInItsBounds) {
  check_json(R"({"a": [1, -2, 0.5, true, null, {"a": "b"}], "b": {"a": {}}})",
             {.depth = 3, .has_unique_keys = true});
  check_json("7");
}

TEST(JsonText, SaysWhatIsWrong) {
  const auto wrong = [](const std::string& text, const std::string& why, const JsonBounds& bounds) {
    expect_error(ErrorKind::kFormat, why, [&] { check_json(text, bounds); });
  };
  wrong("", "expected JSON, found other text at byte 1", {});
  wrong("[1,]", "expected JSON, found other text at byte 4", {});
  wrong("[[[]]]", "at most 2 lists and objects in each other", {.depth = 2});
  wrong(std::string(100000, '['), "at most 100 lists and objects in each other", {});
  wrong(R"([{"a": 1, "b": {"c": 1, "c": 2}}])", "expected every key once, found 'c' twice",
        {.has_unique_keys = true});
  check_json(R"({"c": 1, "c": 2})");
}

}  // namespace
}  // namespace halftone
