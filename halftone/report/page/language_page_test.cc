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

/// The story model beside a larger one, with what was measured of both.
LanguageContent measured_model() {
  LanguageContent content = story_model();
  LanguageReport& report = content.report;
  report.reference_bytes = 80000;
  report.speed = LanguageSpeed{1, 512, 128, 1e9, {{0, 900, 300, 19000, 0.005}}};
  report.reference_speed = LanguageSpeed{1, 512, 128, 1e9, {{0, 900, 100, 70000, 0.007}}};
  report.parts = {{"attention", 3e-6}, {"head", 1e-6}};
  TextDetails& details = report.evaluations[0].details;
  details.positions = {{1, 1, {5, 0.1}, {0.01, 0}}, {2, 3, {4, 0.1}, {0.02, 0}}};
  details.changed = {{9, "once\nupon", " a", " ", "<b>", 7.5, 0.25, 6}};
  content.sensitivities[0].units[0].losses = {0.5, 0.25};
  content.sensitivities[0].units.push_back({"blk.0.attn_q.weight", {0.1, 0.02}, {1600, 4352}});
  report.matrices[0].type = report.matrices[1].type = "vector 2x6";
  return content;
}

TEST(LanguagePage, BeginsWithAVerdict) {
  const std::string html = to_html(measured_model());
  EXPECT_THAT(html, HasSubstr("<strong>4.0×</strong> smaller"));
  EXPECT_THAT(html, HasSubstr("<strong>3.0×</strong> faster"));
  EXPECT_THAT(html, HasSubstr("100 → 300 tokens a second, 18.6 KiB read a token, 1 thread"));
  EXPECT_THAT(html, HasSubstr("<div class=\"figure bad\"><p><strong>+8.0 %</strong> perplexity"));
  EXPECT_THAT(html, HasSubstr("KL 0.05 ± 0.004 nats a token"));
  const auto json = nlohmann::json::parse(to_json(measured_model()));
  EXPECT_EQ(json["verdict"]["sentences"][0],
            "4.0 times smaller, 3.0 times faster and perplexity 8.0 % higher.");
  EXPECT_EQ(json["verdict"]["causes"][0]["layer"], "token_embd.weight");
  EXPECT_NEAR(json["verdict"]["causes"][0]["share"].get<double>(), 0.5 / 0.6, 4 * 0x1p-53);
  // The other choice loses half as much: 0.25 nats at 6800 bytes; the second one 0.02.
  EXPECT_EQ(
      json["verdict"]["recipe"],
      "[default]\ntype = \"2x6\"\n\n[[layer]]\nname = \"token_embd.weight\"\ntype = \"Q8_0\"\n"
      "\n[[layer]]\nname = \"blk.0.attn_q.weight\"\ntype = \"Q8_0\"\n");
  EXPECT_EQ(json["verdict"]["command"],
            "halftone quantize float.gguf -o better.safetensors --text TEXT --recipe better.toml");
  EXPECT_EQ(json["speed"]["depths"][0]["bytes_per_token"], 19000);
  EXPECT_EQ(json["parts"][1]["name"], "head");
}

TEST(LanguagePage, NamesCausesOfLossesThatAreKnownAndLarge) {
  LanguageContent content = measured_model();
  // The table has the choice of the second matrix only: 2304 of 9104 bytes.
  content.report.matrices[0].type = "Q4_1";
  std::string html = to_html(content);
  EXPECT_THAT(html, Not(HasSubstr("of the predicted loss")));
  EXPECT_THAT(html, HasSubstr("Colour, bits that are saved"));
  EXPECT_THAT(html, HasSubstr("The sensitivities are of other types than those of most matrices"));
  content = measured_model();
  for (auto& unit : content.sensitivities[0].units) unit.losses = {4e-4, 1e-4};
  EXPECT_THAT(to_html(content), HasSubstr("The predicted losses of single matrices add up to less "
                                          "than 0.001 nats a token."));
}

TEST(LanguagePage, ShowsLongTimesInMilliseconds) {
  LanguageContent content = measured_model();
  EXPECT_THAT(to_html(content), HasSubstr("Microseconds of a token by part"));
  content.report.parts = {{"attention", 0.1146}, {"head", 3e-3}};
  EXPECT_THAT(to_html(content), HasSubstr("Milliseconds of a token by part"));
  EXPECT_THAT(to_html(content), HasSubstr(">114.6<"));
}

TEST(LanguagePage, SaysHowManyTimesAsHighAPerplexityIs) {
  LanguageContent content = measured_model();
  content.report.evaluations[0].measures.reference->ratio = {6.02, 0.524};
  EXPECT_THAT(to_html(content), HasSubstr("<strong>6.0×</strong> perplexity"));
  EXPECT_THAT(to_html(content), HasSubstr(", ± 52 %; KL"));
  EXPECT_THAT(to_html(content), HasSubstr("and perplexity 6.0 times as high."));
}

TEST(LanguagePage, FoldsBlocksWithTheSameTypes) {
  LanguageContent content = story_model();
  content.sensitivities.clear();
  for (const std::size_t block : {1U, 2U, 3U}) {
    MatrixFigures matrix = content.report.matrices[1];
    matrix.name = "blk." + std::to_string(block) + ".attn_q.weight";
    matrix.block = block;
    if (block == 3) matrix.type = "Q8_0";
    content.report.matrices.push_back(matrix);
  }
  EXPECT_THAT(to_html(content), HasSubstr("<tr><th scope=row>0 to 2</th>"));
  EXPECT_THAT(to_html(content), HasSubstr("<tr><th scope=row>3</th>"));
}

TEST(LanguagePage, SaysWhereInATextTheLossesAre) {
  const std::string html = to_html(measured_model());
  EXPECT_THAT(html, HasSubstr("Divergence by position, a.txt"));
  EXPECT_THAT(html, HasSubstr("<th scope=row>…once↵upon</th><td><code> a</code></td>"
                              "<td><code>␣</code></td><td><code>&lt;b&gt;</code></td>"));
  EXPECT_THAT(html, HasSubstr("<td class=c5 title=\"blk.0.attn_q.weight: 2304 B, loss 0.1\">"));
  EXPECT_THAT(html, HasSubstr("attention: 75 % of a token"));
  const auto text = nlohmann::json::parse(to_json(measured_model()))["texts"][0];
  EXPECT_EQ(text["positions"][1]["kl_divergence"], 0.02);
  EXPECT_EQ(text["changed"][0]["token"], " a");
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
  const auto with = [](const std::string& units) {
    return sensitivity_of({"s.json", R"({"loss": "kl", "layers": [{"name": "a"}, {"name": "b"}],
      "units": [{"layers": [0]}, {"layers": [1]}], "choices": [{"name": "2x6", "units": )" +
                                         units + "}]}"});
  };
  const SensitivityTable table = with(R"([{"loss": 0.5, "bytes": 10}, null])");
  EXPECT_EQ(table.choices, std::vector<std::string>{"2x6"});
  ASSERT_EQ(table.units.size(), 2U);
  EXPECT_EQ(table.units[0].losses[0], 0.5);
  EXPECT_TRUE(std::isnan(table.units[1].losses[0]));
  for (const char* units : {"[]", "1", R"([{"loss": 0.5}, null])", R"(["a", null])"}) {
    expect_error(ErrorKind::kFormat, "s.json: expected what sensitivity --json prints",
                 [&] { (void)with(units); });
  }
}

}  // namespace
}  // namespace halftone::report::page
