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

TEST(JsonText, HasNumbersOfPythonAsObjects) {
  EXPECT_EQ(json_of_python(R"({"a": [0.0, Infinity, -Infinity], "b": NaN})"),
            R"({"a": [0.0, {"__float__": "Infinity"}, {"__float__": "-Infinity"}], )"
            R"("b": {"__float__": "NaN"}})");
  const std::string strings = R"({"Infinity": "NaN \\" , "b": "\"NaN", "c": "\\\"NaN"})";
  EXPECT_EQ(json_of_python(strings), strings);
  EXPECT_EQ(json_of_python("\"NaN\\"), "\"NaN\\");
}

}  // namespace
}  // namespace halftone
