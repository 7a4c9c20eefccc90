// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/language_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "halftone/base/testing.h"

namespace halftone::report::page {
namespace {

using testing::HasSubstr;
using testing::Not;

LanguageContent story_model() {
  LanguageContent content;
  LanguageReport& report = content.report;
  report.name = "<story>.gguf";
  report.reference = "float.gguf";
  report.file_bytes = 20000;
  report.parameters = 21000;
  report.bits_per_weight = 7.25;
  report.vector_bytes = 512;
  report.facts = {{"architecture", "llama"}, {"blocks", "1"}};
  report.matrices = {{"token_embd.weight", "embedding", std::nullopt, "Q8_0", 100, 64, 8.5, 6800},
                     {"blk.0.attn_q.weight", "attention query", 0, "Q4_0", 64, 64, 4.5, 2304}};
  lm::TextEvaluation measures{100, 2, {1, 0.1}, {2.7, 0.2}};
  measures.reference = {{2.5, 0.2}, {1.08, 0.01}, {0.05, 0.004}, {0.6, 0.1}, {0.93, 0.02}};
  report.evaluations = {{"a.txt", measures}};
  content.sensitivities = {{"s.json",
                            "kl",
                            {"2x6", "Q8_0"},
                            {{"token_embd.weight", {std::nan(""), 0.001}, {std::nan(""), 6800}}}}};
  return content;
}

TEST(LanguagePage, IsWholeWithoutARequest) {
  const std::string html = to_html(story_model());
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("<h1>&lt;story&gt;.gguf</h1>"));
  for (const char* request : {"://", "url(", "@import", " src=", "fetch(", "<link"}) {
    EXPECT_THAT(html, Not(HasSubstr(request)));
  }
  EXPECT_EQ(html, to_html(story_model()));
}

TEST(LanguagePage, ShowsMatricesSharesAndMeasures) {
  const std::string html = to_html(story_model());
  EXPECT_THAT(html, HasSubstr("<tr><th scope=row>architecture</th><td>llama</td></tr>"));
  EXPECT_THAT(html, HasSubstr("<th scope=row>blk.0.attn_q.weight</th><td>attention query</td>"));
  EXPECT_THAT(html, HasSubstr("MiB by role"));
  EXPECT_THAT(html, HasSubstr("block 0: 1 matrix, 2304 B, 4.500 bits per weight"));
  EXPECT_THAT(html, HasSubstr("beside float.gguf"));
  EXPECT_THAT(html, HasSubstr("2.7000 ± 0.2000"));
  EXPECT_THAT(html, HasSubstr("93.00 ± 2.00"));
  EXPECT_THAT(html, HasSubstr("<td data-v=-Infinity>-</td><td title=\"6800 B\">0.001</td>"));
  EXPECT_THAT(html, Not(HasSubstr("No text was given")));
  LanguageContent bare = story_model();
  bare.report.evaluations.clear();
  bare.report.missing = {"the tokenizer: <none>"};
  EXPECT_THAT(to_html(bare), HasSubstr("No text was given"));
  EXPECT_THAT(to_html(bare), HasSubstr("the tokenizer: &lt;none&gt;"));
}

TEST(LanguagePage, HasItsNumbersAsJson) {
  const auto json = nlohmann::json::parse(to_json(story_model()));
  EXPECT_EQ(json["name"], "<story>.gguf");
  EXPECT_EQ(json["facts"]["blocks"], "1");
  EXPECT_EQ(json["layers"][0]["block"], nullptr);
  EXPECT_EQ(json["layers"][1]["block"], 0);
  EXPECT_EQ(json["layers"][1]["weight_bits"], 4.5);
  EXPECT_EQ(json["texts"][0]["text"], "a.txt");
  EXPECT_EQ(json["texts"][0]["reference"]["kl_divergence"]["value"], 0.05);
  EXPECT_EQ(json["sensitivities"][0]["units"][0]["losses"][0], nullptr);
}

TEST(LanguagePage, ReadsSensitivitiesOfMatrices) {
  const auto with = [](const std::string& layers) {
    return sensitivity_of({"s.json", R"({"loss": "kl", "model_loss": 2, "layers": [{"name": "a"},
      {"name": "b"}], "choices": [{"name": "2x6", "layers": )" +
                                         layers + "}]}"});
  };
  const SensitivityTable table = with(R"([{"loss": 0.5, "bytes": 10}, null])");
  EXPECT_EQ(table.choices, std::vector<std::string>{"2x6"});
  ASSERT_EQ(table.units.size(), 2U);
  EXPECT_EQ(table.units[0].losses[0], 0.5);
  EXPECT_TRUE(std::isnan(table.units[1].losses[0]));
  for (const char* layers : {"[]", "1", R"([{"loss": 0.5}, null])", R"(["a", null])"}) {
    expect_error(ErrorKind::kFormat, "s.json: expected what sensitivity --json prints",
                 [&] { (void)with(layers); });
  }
}

}  // namespace
}  // namespace halftone::report::page
