// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/language.h"

#include <nlohmann/json.hpp>

#include "halftone/base/testing.h"
#include "halftone/report/report.h"
#include "halftone/report/sensitivity.h"

namespace halftone::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(LanguageReports, SayHowATextWasGenerated) {
  lm::Generation generation;
  generation.text = "a\xC3\xA4\n";
  generation.tokens = {3, 4, 5};
  generation.end = v0::End::kText;
  generation.reused_tokens = 2;
  generation.prompt_tokens = 12;
  generation.prompt_seconds = 0.5;
  generation.first_seconds = 0.625;
  generation.generate_seconds = 0.25;
  EXPECT_EQ(to_line(generation),
            "prompt 12 tokens (2 known), 20.0 tokens/s; first token after 0.62 s; 3 tokens, 8.0 "
            "tokens/s; end: text");
  const json found = json::parse(to_json(generation));
  EXPECT_EQ(found["text"], "a\xC3\xA4\n");
  EXPECT_EQ(found["tokens"], json::array({3, 4, 5}));
  EXPECT_EQ(found["end"], "text");
  EXPECT_EQ(found["prompt_tokens"], 12);
  EXPECT_EQ(found["tokens_per_second"], 8);
  EXPECT_EQ(found["seconds_to_first_token"], 0.625);
  EXPECT_EQ(found["guessed_tokens"], 0);
  const std::string line = to_json_line(generation);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(json::parse(line), found);
  generation.guessed_tokens = 7;
  generation.accepted_tokens = 4;
  EXPECT_THAT(to_line(generation), HasSubstr("tokens/s; 4 of 7 guesses right; end: text"));
  EXPECT_EQ(json::parse(to_json(generation))["accepted_tokens"], 4);
  EXPECT_TRUE(json::parse(to_json(lm::Generation()))["tokens_per_second"].is_null());
}

TEST(LanguageReports, CountTheWeightsForATokenOfAMixture) {
  ContainerInspection inspection;
  inspection.parameters = 1000;
  inspection.model = LanguageModelSummary{.experts = 8, .active_experts = 2};
  inspection.model->idle_parameters = 600;
  EXPECT_THAT(to_text(inspection), HasSubstr(", 2 of 8 experts: 400 weights for a token\n"));
  EXPECT_EQ(json::parse(to_json(inspection))["model"]["active_parameters"], 400);
  // A file that lacks tensors.
  inspection.parameters = 100;
  EXPECT_EQ(json::parse(to_json(inspection))["model"]["active_parameters"], 0);
}

TEST(LanguageReports, ShowEvaluationsWithErrors) {
  lm::TextEvaluation evaluation{100, 2, {2, 0.5}, {7.5, 0.25}};
  EXPECT_EQ(to_text(evaluation), "perplexity 7.5000 +- 0.2500 of 100 tokens in 2 windows\n");
  EXPECT_FALSE(json::parse(to_json(evaluation)).contains("reference"));
  evaluation.reference = {{6, 0.5}, {1.25, 0.125}, {0.5, 0.0625}, {4, 1}, {0.75, 0.25}};
  EXPECT_THAT(to_text(evaluation), HasSubstr("reference 6.0000 +- 0.5000, ratio 1.25000"));
  EXPECT_THAT(to_text(evaluation), HasSubstr("same most probable token 75.00 +- 25.00 %"));
  const json found = json::parse(to_json(evaluation));
  EXPECT_EQ(found["metric"], "perplexity");
  EXPECT_EQ(found["value"], 7.5);
  EXPECT_EQ(found["loss"]["value"], 2);
  EXPECT_EQ(found["reference"]["kl_divergence_99"]["value"], 4);
  EXPECT_EQ(found["reference"]["same_top"]["standard_error"], 0.25);
}

TEST(LanguageReports, CompareTexts) {
  lm::TextEvaluation evaluation{100, 2, {2, 0.5}, {7.5, 0.25}};
  std::vector<TextFileEvaluation> evaluations = {{"a.txt", evaluation}};
  EXPECT_EQ(to_text(evaluations), to_text(evaluation));
  EXPECT_EQ(to_json(evaluations), to_json(evaluation));
  evaluation.reference = {{6, 0.5}, {1.25, 0.125}, {0.5, 0.0625}, {4, 1}, {0.75, 0.25}};
  evaluations = {{"a.txt", evaluation}, {"b.txt", evaluation}};
  EXPECT_EQ(to_text(evaluations),
            "text   tokens      perplexity  reference     KL divergence    99 % at most"
            "        same token\n"
            "--------------------------------------------------------------------------"
            "------------------\n"
            "a.txt     100  7.500 +- 0.250      6.000  0.5000 +- 0.0625  4.000 +- 1.000"
            "  75.00 +- 25.00 %\n"
            "b.txt     100  7.500 +- 0.250      6.000  0.5000 +- 0.0625  4.000 +- 1.000"
            "  75.00 +- 25.00 %\n");
  const json found = json::parse(to_json(evaluations))["texts"];
  EXPECT_EQ(found[1]["text"], "b.txt");
  EXPECT_EQ(found[1]["reference"]["kl_divergence"]["value"], 0.5);
}

TEST(LanguageReports, ShowWhatWasQuantized) {
  LanguageQuantizeReport report;
  report.input_bytes = 4096;
  report.output_bytes = 1024;
  report.fit_tokens = 128;
  report.fit_loss = 2.5;
  report.matrices = {{"blk.0.attn_q.weight", "4x8", 2.125, 512, 0.01},
                     {"zeros", "4x8", 2.125, 9, 0}};
  EXPECT_THAT(to_text(report),
              HasSubstr("128 tokens to fit, 0 held out; the float model's loss 2.500 nats per "
                        "token\n"));
  EXPECT_TRUE(json::parse(to_json(report))["held_out_loss"].is_null());
  report.held_out_tokens = 32;
  report.held_out_loss = 2.75;
  report.warnings = {"a warning"};
  EXPECT_THAT(to_text(report),
              HasSubstr("32 held out; the float model's loss 2.500 and 2.750 nats"));
  const json found = json::parse(to_json(report));
  EXPECT_EQ(found["fit_loss"], 2.5);
  EXPECT_EQ(found["held_out_loss"], 2.75);
  EXPECT_EQ(found["warnings"], json::array({"a warning"}));
  EXPECT_EQ(found["layers"][0]["sqnr_db"], 20);
  EXPECT_TRUE(found["layers"][1]["sqnr_db"].is_null());
}

TEST(LanguageReports, ShowWhatTypesLose) {
  v0::Sensitivity found;
  found.loss = "kl";
  found.samples = 2;
  found.tokens = 32;
  found.model_loss = 1.5;
  found.layers = {{"token_embd.weight", "", 25600, "F16", 100, 64, 12800},
                  {"blk.0.ffn_up.weight", "", 32768, "F16", 128, 64, 16384}};
  found.units = {{{0}}, {{1}}};
  const auto choice = [](const char* name, double bits, std::size_t first_bytes, double first_loss,
                         std::size_t bytes, double loss) {
    v0::ChoiceSensitivity result{name, {}, {}};
    result.layers = {{bits, 32, first_bytes, {}, {}, first_loss}, {bits, 32, bytes, {}, {}, loss}};
    result.units = {{first_bytes, first_loss}, {bytes, loss}};
    return result;
  };
  found.choices = {choice("Q4_0", 4.5, 3600, 0.25, 4608, 0.5),
                   choice("Q8_0", 8.5, 0, 0, 8704, 0.001234)};
  found.choices[1].units[0].is_possible = false;
  const std::string text = to_text(found);
  EXPECT_THAT(text,
              HasSubstr("on 2 samples of 32 tokens. If one layer (or layers that are tied) has "
                        "this choice:\n"));
  EXPECT_THAT(text,
              HasSubstr("blk.0.ffn_up.weight        128 x 64  F16   16.0 KiB   0.5  0.00123"));
  EXPECT_THAT(text,
              HasSubstr("token_embd.weight          100 x 64  F16   12.5 KiB  0.25        -"));
  EXPECT_THAT(text, HasSubstr("Q4_0  4.500         2  8208 B         0.75"));
  EXPECT_THAT(text, HasSubstr("own loss on these samples: 1.500 nats per token."));
  EXPECT_THAT(text, HasSubstr("These are the samples of the fit"));
  const json printed = json::parse(to_json(found));
  EXPECT_EQ(printed["choices"][0]["bytes"], 8208);
  EXPECT_EQ(printed["choices"][0]["loss"], 0.75);
  EXPECT_EQ(printed["choices"][1]["layers"][0], nullptr);
  EXPECT_EQ(printed["choices"][1]["layers"][1]["weight_bits"], 8.5);
  EXPECT_EQ(printed["choices"][1]["units"][0], nullptr);
  EXPECT_EQ(printed["choices"][1]["units"][1]["accumulated_loss"], nullptr);
  EXPECT_EQ(printed["choices"][1]["weight_bits"], 8.5);
  EXPECT_EQ(printed["layers"][1]["rows"], 128);
  EXPECT_EQ(printed["layers"][1]["float_bytes"], 32768);
  EXPECT_EQ(printed["model_loss"], 1.5);
}

TEST(LanguageReports, ShowSpeeds) {
  const LanguageSpeed speed{2, 512, 128, 2e10, {{0, 100, 50, 200 << 20, 0.5}, {64, 0, 0, 0, 0}}};
  const std::string text = to_text(speed);
  EXPECT_THAT(text, HasSubstr("2 threads; memory 20.0 GB/s"));
  EXPECT_THAT(text, HasSubstr("200.0 MiB"));
  EXPECT_THAT(text, HasSubstr("50.0 %"));
  const json found = json::parse(to_json(speed));
  EXPECT_EQ(found["depths"][0]["bandwidth_share"], 0.5);
  EXPECT_TRUE(found["depths"][1]["bytes_per_token"].is_null());
  EXPECT_EQ(found["memory_bytes_per_second"], 2e10);
  EXPECT_TRUE(found["accelerator"].is_null());
  EXPECT_THAT(text, testing::Not(HasSubstr("predicted")));
}

TEST(LanguageReports, OfSpeedHavePredictionsBesideIt) {
  LanguageSpeed speed{2, 512, 128, 2e10, {{0, 100, 50, 200 << 20, 0.5}}};
  speed.accelerator = "a card";
  speed.depths[0].predicted_prompt_tokens_per_second = 110;
  speed.depths[0].predicted_tokens_per_second = 45;
  const std::string text = to_text(speed);
  EXPECT_THAT(text, HasSubstr("predicted for a card"));
  EXPECT_THAT(text, HasSubstr("110.0"));
  const json found = json::parse(to_json(speed));
  EXPECT_EQ(found["accelerator"], "a card");
  EXPECT_EQ(found["depths"][0]["predicted_prompt_tokens_per_second"], 110);
  EXPECT_EQ(found["depths"][0]["predicted_tokens_per_second"], 45);
}

TEST(LanguageReports, OfSpeedHaveThatOfSeveralProcesses) {
  LanguageSpeed speed{2, 512, 128, 2e10, {{0, 100, 50, 200 << 20, 0.5}}};
  EXPECT_EQ(json::parse(to_json(speed))["ranks"], json::array());
  speed.ranks = {{4, 10, 25, 80, 1.6, 0.3, 60 << 20}};
  const std::string text = to_text(speed);
  for (const char* part : {"processes", "80.0", "1.60x", "30.0 %", "60.0 MiB"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const json found = json::parse(to_json(speed))["ranks"][0];
  EXPECT_EQ(found["ranks"], 4);
  EXPECT_EQ(found["message_share"], 0.3);
  EXPECT_EQ(found["weight_bytes"], 60 << 20);
}

}  // namespace
}  // namespace halftone::report
