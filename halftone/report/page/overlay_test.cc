// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/overlay.h"

#include <gtest/gtest.h>

#include <limits>

#include "halftone/report/json.h"

namespace halftone::report::page {
namespace {

TEST(NodeData, HasTheKeysOfModelExplorer) {
  const Json json = Json::parse(node_data({"bytes", {{"b", 12}, {"a", 0.5}}, false}));
  EXPECT_EQ(json.at("name"), "bytes");
  EXPECT_EQ(json.at("results").dump(), R"({"b":{"value":12.0},"a":{"value":0.5}})");
  ASSERT_EQ(json.at("gradient").size(), 2U);
  EXPECT_EQ(json.at("gradient")[0].at("stop"), 0);
  EXPECT_EQ(json.at("gradient")[0].at("bgColor"), "#ffffff");
  EXPECT_EQ(json.at("gradient")[1].at("stop"), 1);
  EXPECT_EQ(json.at("gradient")[1].at("bgColor"), "#f0883e");
  EXPECT_FALSE(json.contains("hideAggregatedStats"));
}

TEST(NodeData, MarksLowValuesWhereHighOnesAreGood) {
  const Json json = Json::parse(node_data({"SQNR in dB", {{"a", 1}}, true}));
  EXPECT_EQ(json.at("gradient")[0].at("bgColor"), "#f0883e");
  EXPECT_EQ(json.at("gradient")[1].at("bgColor"), "#ffffff");
  EXPECT_EQ(json.at("hideAggregatedStats"), Json::array({"sum"}));
}

TEST(NodeData, OmitsValuesThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Json json = Json::parse(node_data({"x", {{"a", infinity}, {"b", nan}, {"c", 1}}, false}));
  EXPECT_EQ(json.at("results").size(), 1U);
}

TEST(NodeData, OfEqualNamesTheFirstCounts) {
  const Json json = Json::parse(node_data({"x", {{"a", 1}, {"a", 2}}, false}));
  EXPECT_EQ(json.at("results").at("a").at("value"), 1.0);
}

TEST(NodeData, NamesThatAreNotTextAreReplaced) {
  const Json json = Json::parse(node_data({"x", {{"\"<\xFF>", 1}}, false}));
  EXPECT_TRUE(json.at("results").contains("\"<\xEF\xBF\xBD>"));
}

TEST(NodeData, OfNothingIsAnObject) {
  EXPECT_TRUE(Json::parse(node_data({"x", {}, false})).at("results").is_object());
}

}  // namespace
}  // namespace halftone::report::page
