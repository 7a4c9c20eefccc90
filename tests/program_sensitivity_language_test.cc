// SPDX-License-Identifier: Apache-2.0
// What types lose in a language model, as users measure it.
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "halftone/base/file.h"
#include "tests/program.h"
#include "tests/tiny_language_model.h"
#include "tests/tiny_model_folder.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ProgramLanguageSensitivity : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    tiny_.emplace(path("tiny.bin"), TinyLanguageModel::kWideSizes);
    (void)write_tiny_text(path("fit.txt"));
  }
  [[nodiscard]] std::string model() const {
    return tiny_->path() + " --tokenizer " + tiny_->tokenizer() + " ";
  }
  [[nodiscard]] std::string few(const std::string& verb = "sensitivity ") const {
    return verb + model() + "--samples 8 --held-out 2 --sample-tokens 32 ";
  }
  [[nodiscard]] std::string measured() const { return few() + "--text " + path("fit.txt") + " "; }

  [[nodiscard]] Outcome run_well(const std::string& arguments) const {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }

  std::optional<TinyLanguageModel> tiny_;
};

TEST_F(ProgramLanguageSensitivity, PredictsLossesAsABudgetDoes) {
  const json found = json::parse(run_well(measured() + "--json").out);
  EXPECT_EQ(found["loss"], "kl");
  EXPECT_EQ(found["samples"], 2);
  EXPECT_EQ(found["tokens"], 32);
  EXPECT_FALSE(found["on_fit_samples"].get<bool>());
  ASSERT_EQ(found["layers"].size(), 15U) << "7 of each block, and the table";
  EXPECT_EQ(found["layers"][0]["type"], "F32");
  // The default is what a size is chosen from: 4x8, ..., and of the table 2x6, ..., Q8_0.
  std::vector<std::string> names;
  for (const json& choice : found["choices"]) names.push_back(choice["name"]);
  EXPECT_THAT(names,
              testing::ElementsAre("4x8", "4x9", "4x10", "2x6", "2x7", "2x8", "2x10", "Q8_0"));
  EXPECT_EQ(found["units"][14], json({{"layers", {14}}, {"may_change", true}}));
  double sum = 0;
  for (const json& cost : found["choices"][5]["layers"]) {
    EXPECT_GT(cost["loss"], 0);
    sum += cost["loss"].get<double>();
  }
  // 15 positive numbers added in another order.
  const double rounding = 15 * std::numeric_limits<double>::epsilon() * sum;
  EXPECT_NEAR(found["choices"][5]["loss"].get<double>(), sum, rounding);
  // All matrices as 2x8: what a quantization of that type predicts.
  const Outcome quantized =
      run_well(few("quantize ") + "--text " + path("fit.txt") + " -o " + path("o.safetensors") +
               " --type 2x8 --table-type 2x8 --predict-loss --json");
  EXPECT_NEAR(json::parse(quantized.out)["predicted_loss"].get<double>(), sum, rounding);
}

TEST_F(ProgramLanguageSensitivity, MeasuresTypesThatAreNamed) {
  const std::string types = measured() + "--choices q8_0,Q4_0 ";
  const json found = json::parse(run_well(types + "--json --threads 1").out);
  ASSERT_EQ(found["choices"].size(), 2U);
  EXPECT_EQ(found["choices"][0]["name"], "Q4_0");
  EXPECT_EQ(found["choices"][0]["weight_bits"], 4.5);
  EXPECT_GT(found["choices"][0]["loss"], found["choices"][1]["loss"]);
  EXPECT_EQ(json::parse(run_well(types + "--json --threads 2").out), found);
  const std::string text = run_well(types).out;
  EXPECT_THAT(text, HasSubstr("Loss: predicted KL divergence from the model, nats per token, on 2 "
                              "samples of 32 tokens"));
  EXPECT_THAT(text, HasSubstr(" 64 x 64  F32   16.0 KiB "));
  // K types have blocks of 256 weights.
  expect_failure(measured() + "--choices Q4_K", 2, "types: none holds the rows of a matrix");
  expect_failure(measured() + "--choices Q4_0,Q4_0", 2, "types: 'Q4_0' comes twice");
  expect_failure(measured() + "--choices 2/8", 2, "'2/8'");
}

TEST_F(ProgramLanguageSensitivity, ContinuesFromItsState) {
  const std::string state = measured() + "--choices Q4_0,2x6 --json --state " + path("s");
  const std::string whole = run_well(measured() + "--choices Q4_0,2x6 --json").out;
  EXPECT_EQ(run_well(state).out, whole);
  const auto size = std::filesystem::file_size(path("s"));
  std::filesystem::resize_file(path("s"), size / 2);
  EXPECT_EQ(run_well(state + " --threads 1").out, whole);
  EXPECT_EQ(std::filesystem::file_size(path("s")), size);
  expect_failure(measured() + "--choices Q4_0 --state " + path("s"), 3,
                 "s: has sensitivities of another job: expected choices 'Q4_0', found 'Q4_0,2x6'");
  expect_failure(few("quantize ") + "--text " + path("fit.txt") + " -o " + path("o.safetensors") +
                     " --type Q4_0 --state " + path("s"),
                 3, "s: expected a state of a quantization, found something else");
}

TEST_F(ProgramLanguageSensitivity, WritesItsOwnSamples) {
  const json found = json::parse(run_well("sensitivity " + model() +
                                          "--samples 8 --sample-tokens 32 --held-out 0 " +
                                          "--calibrate synthetic --choices Q4_0 --json")
                                     .out);
  EXPECT_TRUE(found["on_fit_samples"].get<bool>());
  EXPECT_EQ(found["samples"], 8);
}

TEST_F(ProgramLanguageSensitivity, IsShownOnAPage) {
  write_file(path("s.json"), run_well(measured() + "--choices Q4_0,Q4_K --json").out);
  const std::string page = "report " + model() + "-o " + path("r.html");
  EXPECT_THAT(run_well(page).out, testing::StartsWith(path("r.html") + ", "));
  EXPECT_THAT(text_of(path("r.html")), HasSubstr("No text was given"));
  const std::string text = " --text " + path("fit.txt") + " --context 32 --windows 3 ";
  const std::string reference = text + "--reference " + tiny_->path();
  const json found =
      json::parse(run_well(page + reference + " --json --sensitivity " + path("s.json")).out);
  EXPECT_EQ(found["facts"]["architecture"], "llama");
  EXPECT_EQ(found["layers"].size(), 15U);
  EXPECT_EQ(found["layers"][0]["name"], "token_embd.weight");
  EXPECT_EQ(found["layers"][0]["weight_bits"], 32);
  EXPECT_EQ(found["file_bytes"], std::filesystem::file_size(tiny_->path()));
  EXPECT_EQ(found["sensitivities"][0]["choices"], json({"Q4_0", "Q4_K"}));
  EXPECT_EQ(found["sensitivities"][0]["units"][0]["losses"][1], nullptr);
  const json eval = json::parse(run_well("eval " + model() + reference + " --json").out);
  json shown = found["texts"][0];
  EXPECT_EQ(shown["text"], "fit.txt");
  EXPECT_EQ(shown["positions"][0]["first"], 1);
  EXPECT_GE(shown["changed"][0]["kl_divergence"], shown["changed"][1]["kl_divergence"]);
  for (const char* key : {"text", "positions", "changed"}) shown.erase(key);
  EXPECT_EQ(shown, eval);
  EXPECT_THAT(text_of(path("r.html")), HasSubstr(">blk.1.ffn_down.weight</th>"));
  expect_failure(page + " --reference " + tiny_->path(), 2,
                 "--reference, of a language model, requires --text");
  const json timed = json::parse(run_well(page + " --time --json").out);
  EXPECT_GT(timed["speed"]["depths"][0]["bytes_per_token"].get<double>(), 0);
  EXPECT_EQ(timed["verdict"]["speed"]["to"], timed["speed"]["depths"][0]["tokens_per_second"]);
  EXPECT_GT(timed["parts"][0]["seconds"].get<double>(), 0);
  expect_failure(page + " --worst 3", 2, "--worst: only of networks that are no language models");
  expect_failure("report " + kModel + text + "-o " + path("r.html"), 2,
                 "--text: only of language models");
  expect_failure(page + " --sensitivity " + path("fit.txt"), 3, "fit.txt: ");
}

TEST_F(ProgramLanguageSensitivity, IsLimitedByBudgets) {
  const auto quantize = [&](const std::string& name, const std::string& options) {
    return few("quantize ") + "--text " + path("fit.txt") + " --json -o " + path(name) + " " +
           options;
  };
  const json sized = json::parse(run_well(quantize("a.safetensors", "--size 70kB")).out);
  ASSERT_GE(sized["front"].size(), 2U);
  EXPECT_LT(sized["front"][0]["bytes"], sized["front"][1]["bytes"]);
  EXPECT_GT(sized["front"][0]["loss"], sized["front"][1]["loss"]);
  (void)run_well(quantize("b.safetensors", "--budget bytes=70k"));
  EXPECT_EQ(read_file(path("a.safetensors")), read_file(path("b.safetensors")));
  const double loss = 2 * sized["predicted_loss"].get<double>();
  const json limited =
      json::parse(run_well(quantize("c.safetensors", "--budget loss=" + std::to_string(loss))).out);
  EXPECT_LE(limited["predicted_loss"].get<double>(), loss + 1e-6);
  EXPECT_LT(limited["output_bytes"].get<int>(), sized["output_bytes"].get<int>());
  const json chosen = json::parse(
      run_well(quantize("d.safetensors", "--budget bytes=100k --choices Q8_0,2x8,int4")).out);
  EXPECT_LE(chosen["output_bytes"].get<int>(), 100000);
  std::set<std::string> types;
  for (const json& matrix : chosen["layers"]) types.insert(matrix["type"]);
  EXPECT_THAT(types, testing::IsSubsetOf({"Q8_0", "2x8", "int4"}));
  EXPECT_GE(types.size(), 2U);
  const auto refused = [&](const std::string& options, int code, const std::string& message) {
    expect_failure(quantize("x.safetensors", options), code, message);
  };
  refused("--size 70kB --choices 2x6", 2, "--choices requires --budget");
  refused("--budget bytes=70k --choices 2x6,2x6", 2, "types: '2x6' comes twice");
  refused("--budget bytes=70k --choices Q9", 2, "type of weights 'Q9'");
  refused("--budget bytes=10k --choices Q8_0", 4, "cannot be met with these choices");
  refused("--budget bytes=70k --size 70kB", 2, "--budget excludes --size");
  refused("--budget loss=0.1 --type 2x8", 2, "--type excludes --budget");
  refused("--budget us=3", 2, "of a language model: expected bytes= or loss=");
  refused("--budget bytes=70k,loss=1", 2, "of a language model: expected bytes= or loss=");
  refused("--budget loss=1e-9", 4,
          "budget loss=1e-09 cannot be met with these choices: the least is 0.");
}

TEST_F(ProgramLanguageSensitivity, TellsNetworksFromLanguageModels) {
  expect_failure("sensitivity " + model() + "--choices Q4_0", 2,
                 "--tokenizer requires --text or --calibrate synthetic");
  expect_failure("sensitivity " + tiny_->path(), 2,
                 "--text or --calibrate synthetic, of a language model, is required");
  expect_failure(measured() + "--no-time", 2, "--no-time: only of networks that are no language");
  expect_failure(measured() + "--data " + path("fit.txt"), 2, "--data: only of networks");
  write_file(path("m.onnx"), std::string_view("x"));
  expect_failure("sensitivity " + path("m.onnx"), 2,
                 "--data, or for a language model --text or --calibrate synthetic is required");
  expect_failure("sensitivity " + path("m.onnx") + " --data " + path("fit.txt") + " --no-rotation",
                 2, "--no-rotation requires --text or --calibrate synthetic");
}

}  // namespace
}  // namespace halftone
