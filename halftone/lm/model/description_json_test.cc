// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/description_json.h"

#include <nlohmann/json.hpp>

#include "halftone/base/testing.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

Description gemma_like() {
  Description d = small_description("gemma2");
  d.window = 4;
  d.windowed = {true, false};
  d.rotary.divisors = {1.5, 2.25};
  d.score_cap = 1.0 / 3;
  return d;
}

TEST(DescriptionJson, ReadsWhatItWrites) {
  const Description d = gemma_like();
  EXPECT_EQ(description_from_json(description_to_json(d)), d);
}

/// The JSON with a change.
std::string changed(const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json object = nlohmann::json::parse(description_to_json(gemma_like()));
  change(object);
  return object.dump();
}

void expect_format_error(const std::string& text, const std::string& message) {
  expect_error(ErrorKind::kFormat, message, [&] { (void)description_from_json(text); });
}

TEST(DescriptionJson, RejectsWhatIsNoDescription) {
  expect_format_error("[]", "is no JSON object");
  expect_format_error("{", "is no JSON object");
  expect_format_error(changed([](auto& d) { d.erase("width"); }), "'width': is missing");
  expect_format_error(changed([](auto& d) { d["width"] = "8"; }), "'width': expected another type");
  expect_format_error(changed([](auto& d) { d["width"] = -8; }), "'width': expected another type");
  expect_format_error(changed([](auto& d) { d["norm"] = "batch"; }), "'norm': unknown");
  expect_format_error(changed([](auto& d) { d["rotary"] = 1; }), "'rotary': expected an object");
  expect_format_error(changed([](auto& d) { d["windowed"] = {"a"}; }),
                      "'windowed': expected a list");
  expect_format_error(changed([](auto& d) { d["colour"] = 1; }), "a newer Halftone may read it");
  expect_format_error(changed([](auto& d) { d["rotary"]["colour"] = 1; }),
                      "'rotary': has fields that are not known; a newer Halftone may read it");
  expect_format_error(changed([](auto& d) { d["kv_heads"] = 3; }), "do not divide");
}

}  // namespace
}  // namespace halftone::lm
