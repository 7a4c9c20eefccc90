// SPDX-License-Identifier: Apache-2.0
// Sensitivities and budgets, as users run them.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "halftone/base/random.h"
#include "halftone/formats/model.h"
#include "tests/integer_classifier.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;

ir::Tensor random_matrix(ir::Dim rows, ir::Dim cols, Random& random) {
  ir::Tensor weights(ir::ElementType::kFloat32, {rows, cols});
  for (float& w : weights.as<float>()) w = 0.1F * static_cast<float>(random.normal());
  return weights;
}

/// A classifier of the example's images that takes no time to fit.
ir::Graph small_classifier() {
  Random random(1);
  ir::Graph graph;
  const auto x =
      graph.add_input("pixels", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 784}));
  const auto first = graph.add_constant("w1", random_matrix(24, 784, random));
  const auto second = graph.add_constant("w2", random_matrix(10, 24, random));
  const auto hidden = graph.add_node("dense1", ir::FullyConnected{{ir::ActivationKind::kRelu}},
                                     {x, first, ir::kAbsent});
  graph.add_output(graph.add_node("dense2", ir::FullyConnected{}, {hidden, second, ir::kAbsent}));
  return graph;
}

class ProgramSensitivity : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    model_ = path("small.circle");
    integers_ = path("integers.onnx");
    formats::save_model(small_classifier(), model_);
    formats::save_model(integer_classifier(), integers_);
  }

  std::string model_;
  std::string integers_;
  const std::string data_ = " --data " + kExample + " --limit 60 ";

  [[nodiscard]] json result_of(const std::string& arguments) const {
    const Outcome outcome = run(arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  }

  [[nodiscard]] std::string budget(const std::string& limits) const {
    return "quantize " + model_ + " -o " + path("m.circle") + data_ + "--choices 1,2,3 --budget " +
           limits;
  }
};

TEST_F(ProgramSensitivity, MeasuresLayersInEachChoice) {
  const json found = result_of("sensitivity " + model_ + data_ + "--choices 2,3/none,float");
  EXPECT_EQ(found["loss"], "kl");
  EXPECT_EQ(found["weighted_by"], "gradients");
  EXPECT_EQ(found["samples"], 60);
  ASSERT_EQ(found["layers"].size(), 2U);
  EXPECT_EQ(found["layers"][0], json({{"name", "dense1"},
                                      {"operator", "FullyConnected"},
                                      {"float_bytes", 24 * 784 * 4},
                                      {"type", "F32"},
                                      {"rows", 24},
                                      {"cols", 784},
                                      {"bytes", 24 * 784 * 4}}));
  EXPECT_EQ(found["tokens"], json());
  EXPECT_EQ(found["units"], json::parse(R"([{"layers":[0],"may_change":true},
                                            {"layers":[1],"may_change":true}])"));
  ASSERT_EQ(found["choices"].size(), 3U);
  const json& two = found["choices"][0];
  EXPECT_EQ(two["layers"][0]["weight_bits"], 2);
  EXPECT_EQ(two["layers"][0]["activation_bits"], 2);
  EXPECT_GT(two["layers"][0]["us"], 0);
  EXPECT_GT(two["us"], two["layers"][0]["us"]);
  EXPECT_EQ(two["weight_bits"], 2);
  EXPECT_EQ(two["bytes"],
            two["units"][0]["bytes"].get<int>() + two["units"][1]["bytes"].get<int>());
  EXPECT_EQ(found["choices"][1]["layers"][0]["activation_bits"], 32);
  EXPECT_EQ(found["choices"][2]["units"][0]["loss"], 0);
  EXPECT_EQ(found["choices"][2]["layers"][1]["sqnr_db"], json());

  // What a recipe that skips the other layer leaves, measured by eval.
  std::ofstream(path("r.toml")) << "[default]\nweight_bits = 2\nactivation_bits = 2\n"
                                   "[[layer]]\nname = \"dense2\"\nskip = true\n";
  const json quantized = result_of("quantize " + model_ + " -o " + path("m.circle") + data_ +
                                   "--recipe " + path("r.toml"));
  EXPECT_EQ(quantized["layers"][0]["sqnr_db"], two["layers"][0]["sqnr_db"]);
  const json eval = result_of("eval " + path("m.circle") + data_ + "--split train --reference " +
                              model_ + " --float-order fixed");
  // Sums of 60 numbers that are not negative, in another order: each addition rounds to 2^-53.
  EXPECT_NEAR(eval["reference"]["kl"].get<double>(), two["units"][0]["loss"].get<double>(),
              2 * 60 * 0x1p-53 * two["units"][0]["loss"].get<double>());
}

TEST_F(ProgramSensitivity, ShowsTheLayersOfAQuantizedNetwork) {
  ASSERT_EQ(run("quantize " + model_ + " -o " + path("m.circle") + data_ + "--weight-bits 2").code,
            0);
  const json found =
      result_of("sensitivity " + path("m.circle") + data_ + "--no-time --reference " + model_);
  ASSERT_EQ(found["choices"].size(), 1U);
  EXPECT_EQ(found["choices"][0]["layers"][0]["weight_bits"], 2);
  EXPECT_EQ(found["choices"][0]["us"], json());
  EXPECT_FALSE(found["units"][0]["may_change"].get<bool>());
  EXPECT_GT(found["choices"][0]["units"][1]["accumulated_loss"], 0);
}

TEST_F(ProgramSensitivity, ContinuesFromItsState) {
  const std::string arguments = "sensitivity " + model_ + data_ + "--no-time --choices 2,3 --json";
  const Outcome whole = run(arguments + " --threads 1");
  ASSERT_EQ(run(arguments + " --state " + path("s.json")).code, 0);
  const std::string state = text_of(path("s.json"));
  // As if the run had been stopped as it wrote the last choice.
  std::filesystem::resize_file(path("s.json"), state.size() - 1);
  const Outcome again = run(arguments + " --threads 2 --state " + path("s.json"));
  EXPECT_EQ(again.out, whole.out);
  EXPECT_EQ(text_of(path("s.json")), state);
  expect_failure("sensitivity " + model_ + data_ + "--no-time --seed 1 --state " + path("s.json"),
                 3, "s.json: has sensitivities of another job: expected seed '1', found '0'");
  expect_failure(budget("bytes=6k") + " --tries 1 --loss error --state " + path("s.json"), 3,
                 "s.json: has sensitivities of another job: expected loss 'error', found");
  std::ofstream(path("s.json")) << "{}";
  expect_failure(arguments + " --state " + path("s.json"), 3,
                 "s.json: expected measured sensitivities");
}

TEST_F(ProgramSensitivity, QuantizesWithinBytes) {
  const json found = result_of(budget("bytes=6k") + " --write-recipe " + path("r.toml"));
  EXPECT_LE(found["output_bytes"], 6000);
  EXPECT_EQ(found["output_bytes"], found["chosen"]["bytes"]);
  EXPECT_EQ(std::filesystem::file_size(path("m.circle")), found["output_bytes"]);
  EXPECT_EQ(found["budget"], json({{"bytes", 6000.0}}));
  EXPECT_EQ(found["choices"].size(), 2U);
  EXPECT_GE(found["front"].size(), 2U);
  EXPECT_TRUE(found["tries"][0]["within"].get<bool>());
  EXPECT_EQ(found["recipe"], text_of(path("r.toml")));
  const std::string bytes = text_of(path("m.circle"));
  const json again = result_of("quantize " + model_ + " -o " + path("again.circle") + data_ +
                               "--recipe " + path("r.toml"));
  EXPECT_EQ(text_of(path("again.circle")), bytes) << "the recipe gives the same file";
}

TEST_F(ProgramSensitivity, QuantizesWithinALossOrAnEstimate) {
  const json loss = result_of(budget("loss=0.05"));
  EXPECT_LE(loss["chosen"]["loss"], 0.05);
  EXPECT_EQ(loss["chosen"]["us"], json());
  const json energy = result_of(budget("pj=1e9,bytes=10k") + " --accelerator edge-2bit");
  EXPECT_LE(energy["chosen"]["pj"], 1e9);
  EXPECT_LE(energy["chosen"]["bytes"], 10000);
  EXPECT_GT(energy["chosen"]["us"], 0);
}

TEST_F(ProgramSensitivity, MeetsATime) {
  const json found = result_of(budget("us=100000"));
  EXPECT_GT(found["chosen"]["us"], 0);
  EXPECT_LE(found["chosen"]["us"], 100000);
  const Outcome text = run(budget("us=100000"));
  EXPECT_THAT(text.out, testing::HasSubstr("Budget: us <= 1e+05; the least loss."));
  EXPECT_THAT(text.out, testing::HasSubstr("Pareto front, predicted:"));
}

TEST_F(ProgramSensitivity, MeasuresOnOtherSamplesIfToldSo) {
  const std::string arguments = "sensitivity " + model_ + data_ + "--no-time --choices 2";
  const json other = result_of(arguments + " --test-data " + kExample + " --test-limit 40");
  EXPECT_EQ(other["samples"], 40);
  EXPECT_NE(other["choices"][0]["units"][0]["loss"],
            result_of(arguments)["choices"][0]["units"][0]["loss"]);
  const Outcome text = run(arguments);
  EXPECT_THAT(text.out, testing::HasSubstr("KL divergence from the float network"));
}

TEST_F(ProgramSensitivity, TakesNetworksWithIntegersAtTheirEnds) {
  const json found = result_of("sensitivity " + integers_ + data_ + "--no-time --choices 3,float");
  EXPECT_EQ(found["loss"], "kl");
  EXPECT_EQ(found["weighted_by"], "noise");
  EXPECT_GT(found["choices"][0]["units"][0]["loss"], 0);
  EXPECT_EQ(found["choices"][1]["units"][1]["accumulated_loss"], 0);

  const std::string rest =
      data_ + "--choices 1,2,3 --budget bytes=7k --write-recipe " + path("r.toml");
  const json within = result_of("quantize " + integers_ + " -o " + path("m.circle") + rest);
  EXPECT_LE(within["output_bytes"], 7000);
  const ir::Graph written = formats::load_model(path("m.circle"));
  EXPECT_EQ(written.value(written.inputs()[0]).type.to_string(), "int8[N, 784]");
  EXPECT_EQ(written.value(written.outputs()[0]).type.to_string(), "int8[N, 10]");
  EXPECT_EQ(written.value(written.outputs()[0]).name, "scores");
  const json again = result_of("quantize " + integers_ + " -o " + path("again.circle") + data_ +
                               "--recipe " + path("r.toml"));
  EXPECT_EQ(again["output_bytes"], within["output_bytes"]);
  EXPECT_EQ(text_of(path("again.circle")), text_of(path("m.circle")));
}

TEST_F(ProgramSensitivity, ComparesNetworksOfIntegers) {
  const std::string reference = data_ + "--reference ";
  const json own = result_of("sensitivity " + integers_ + reference + model_);
  const json& layers = own["choices"][0]["layers"];
  EXPECT_EQ(own["choices"][0]["name"], "model");
  EXPECT_EQ(layers[0]["weight_bits"], 8);
  EXPECT_EQ(layers[0]["activation_bits"], 8);
  EXPECT_EQ(layers[0]["bytes"], 24 * 784);
  EXPECT_GT(layers[0]["us"], 0);
  EXPECT_GT(own["choices"][0]["units"][0]["loss"], 0);
  ASSERT_EQ(
      run("quantize " + integers_ + " -o " + path("m.circle") + data_ + "--weight-bits 2").code, 0);
  const json few = result_of("sensitivity " + path("m.circle") + reference + integers_);
  EXPECT_EQ(few["choices"][0]["layers"][0]["weight_bits"], 2);
  EXPECT_GT(few["choices"][0]["units"][1]["accumulated_loss"], 0);
  const json same = result_of("sensitivity " + integers_ + reference + integers_);
  EXPECT_EQ(same["choices"][0]["units"][1]["accumulated_loss"], 0);
  EXPECT_EQ(same["choices"][0]["layers"][1]["accumulated_sqnr_db"], json()) << "no error";
}

TEST_F(ProgramSensitivity, RejectsBadInputInOneLine) {
  const std::string sensitivity = "sensitivity " + model_ + data_;
  expect_failure(sensitivity + "--choices 2,x", 2, "choice: expected float or [SYSTEM:]BITS");
  expect_failure(sensitivity + "--loss l2", 2, "--loss");
  expect_failure(sensitivity + "--test-limit 3", 2, "--test-limit requires --test-data");
  expect_failure(sensitivity + "--reference " + model_ + " --choices 2", 2, "--choices");
  expect_failure("sensitivity " + path("no.onnx") + data_, 3, "no.onnx: cannot open");
  expect_failure(budget("bytes=1k"), 4,
                 "budget bytes=1000 cannot be met with these choices: the least is");
  expect_failure(budget("bytes=1x"), 2, "budget: expected a number above 0 behind bytes=");
  expect_failure(
      budget("size=60k"), 2,
      "budget: expected bytes=, us=, loss=, pj=, instructions=, flash= or ram= and a number");
  expect_failure(budget("bytes=60k,bytes=50k"), 2, "budget: bytes is there twice");
  expect_failure(budget("bytes=9k,us=1,loss=1"), 2, "expected one limit or two, found 3");
  expect_failure(budget("pj=1"), 2, "budget pj: nothing has measured or estimated it");
  expect_failure(budget("bytes=9k") + " --weight-bits 2", 2, "--weight-bits");
  expect_failure("quantize " + model_ + " -o m.circle" + data_ + "--choices 2", 2, "--budget");
  std::ofstream(path("fixed.toml")) << "[[layer]]\nname = \"*\"\nskip = true\n";
  expect_failure(budget("bytes=90k") + " --recipe " + path("fixed.toml"), 4,
                 "budget: no layer may change");
  std::ofstream(path("no.toml")) << "[[layer]]\nname = \"dense3\"\nskip = true\n";
  expect_failure(budget("bytes=90k") + " --recipe " + path("no.toml"), 2,
                 "pattern 'dense3' matches no layer; the layers are: dense1, dense2");
  EXPECT_FALSE(std::filesystem::exists(path("m.circle")));
}

}  // namespace
}  // namespace halftone
