// SPDX-License-Identifier: Apache-2.0
// The search of hardware and bits, as users run it.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "halftone/accel/explore/testing.h"
#include "halftone/base/printable.h"
#include "halftone/formats/model.h"
#include "tests/integer_classifier.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;

class ProgramExplore : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::ofstream(path("s.toml")) << accel::test::space_of_arrays("1, 2");
  }

  [[nodiscard]] std::string arguments(const std::string& budget = "accuracy-drop=0.02") const {
    return "explore " + kModel + " --space " + path("s.toml") + " --data " + kExample +
           " --limit 200 --budget " + budget + " --json ";
  }
};

TEST_F(ProgramExplore, TakesNetworksOfIntegers) {
  formats::save_model(integer_classifier(), path("integers.onnx"));
  const Outcome outcome =
      run("explore " + path("integers.onnx") + " --space " + path("s.toml") + " --data " +
          kExample + " --limit 60 --budget accuracy-drop=1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json found = json::parse(outcome.out);
  EXPECT_EQ(found["layers"], json({"dense1", "dense2"}));
  EXPECT_TRUE(found["chosen"]["is_within_budget"].get<bool>());
}

TEST_F(ProgramExplore, ChoosesADesignThatQuantizeAndEstimateConfirm) {
  const Outcome outcome =
      run(arguments("accuracy-drop=0.05") + "--objective energy --recipe-out " + path("r.toml") +
          " --accelerator-out " + path("a.toml") + " --front " + path("front.svg") +
          " --test-data " + kExample + " --test-limit 400");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json found = json::parse(outcome.out);
  EXPECT_EQ(found["hardware"], 2);
  EXPECT_EQ(found["designs"], 8);
  EXPECT_EQ(found["layers"], json({"dense1", "dense2"}));
  const json& chosen = found["chosen"];
  EXPECT_TRUE(chosen["is_within_budget"].get<bool>());
  const double drop = chosen["measured_drop"].get<double>();
  const double share = (std::abs(drop) * 400 + 1) / 402;
  EXPECT_DOUBLE_EQ(chosen["drop_standard_error"], std::sqrt(share * (1 - share) / 400));
  EXPECT_LE(drop + chosen["drop_standard_error"].get<double>(), 0.05);
  EXPECT_EQ(found["fit_samples"], 200);
  EXPECT_EQ(found["judged_samples"], 400);
  EXPECT_THAT(text_of(path("front.svg")), testing::HasSubstr("chosen"));

  const std::string data = " --data " + kExample + " --limit 200";
  const Outcome quantized =
      run("quantize " + kModel + " -o " + path("m.circle") + data + " --recipe " + path("r.toml"));
  ASSERT_EQ(quantized.code, 0) << quantized.err;
  const Outcome eval = run("eval " + path("m.circle") + " --data " + kExample +
                           " --limit 400 --reference " + kModel + " --json");
  ASSERT_EQ(eval.code, 0) << eval.err;
  const json accuracy = json::parse(eval.out);
  // Fractions of 400 samples, subtracted with rounding errors of float64.
  EXPECT_NEAR(accuracy["reference"]["value"].get<double>() - accuracy["value"].get<double>(),
              chosen["measured_drop"].get<double>(), 1e-12);

  const Outcome estimated = run("estimate " + kModel + " --recipe " + path("r.toml") +
                                " --accelerator " + path("a.toml") + " --json");
  ASSERT_EQ(estimated.code, 0) << estimated.err;
  EXPECT_EQ(json::parse(estimated.out)["seconds"], chosen["network_seconds"]);
  EXPECT_EQ(json::parse(estimated.out)["energy_joules"], chosen["network_energy_joules"]);
}

TEST_F(ProgramExplore, JudgesOnSamplesThatTheFitDoesNotSee) {
  const Outcome outcome = run(arguments("accuracy-drop=0.05") + "--tries 2");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json found = json::parse(outcome.out);
  EXPECT_EQ(found["fit_samples"], 150);
  EXPECT_EQ(found["judged_samples"], 50);
  EXPECT_THAT(found["judged_on"].get<std::string>(),
              testing::HasSubstr(", which the fit did not see"));
}

TEST_F(ProgramExplore, SaysWhenTooFewSamplesAreJudged) {
  const std::string plain = arguments("accuracy-drop=0.01");
  const Outcome outcome = run(plain.substr(0, plain.size() - 7) + " --tries 1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::HasSubstr("NOT kept by any design"));
  EXPECT_THAT(outcome.out, testing::HasSubstr("losses are measured on 50 others: every 4th"));
  // Without a change among 50 samples: sqrt(1/52 51/52 / 50).
  EXPECT_THAT(outcome.out, testing::HasSubstr("so few samples do not show a drop below 1.94 %"));
}

TEST_F(ProgramExplore, GivesTheSameBytesForAnyThreadsAndAfterAnInterruption) {
  const Outcome one = run(arguments() + "--threads 1 --state " + path("state.json"));
  ASSERT_EQ(one.code, 0) << one.err;
  const std::string state = text_of(path("state.json"));
  // As if the run had been stopped as it wrote the last pair of bits.
  std::filesystem::resize_file(path("state.json"), state.size() - 1);
  const Outcome two = run(arguments() + "--threads 2 --state " + path("state.json"));
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(one.out, two.out);
  EXPECT_EQ(text_of(path("state.json")), state);
  expect_failure(arguments() + "--seed 1 --state " + path("state.json"), 3,
                 "state.json: has losses of single layers of another job: expected seed '1', found "
                 "'0'; name another file");
  // Of the command sensitivity, which measures more.
  const Outcome other = run("sensitivity " + kModel + " --data " + kExample +
                            " --limit 60 --choices 1 --no-time --state " + path("other.json"));
  ASSERT_EQ(other.code, 0) << other.err;
  expect_failure(arguments() + "--state " + path("other.json"), 3,
                 "other.json: expected measured losses of single layers");
}

TEST_F(ProgramExplore, WritesNamesThatAreNotUtf8AsTheyAreRead) {
  ir::Graph graph;
  const ir::ValueId x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, ir::Shape{ir::kBatch, 784}));
  ir::Tensor weights(ir::ElementType::kFloat32, {10, 784});
  float value = 0;
  for (float& each : weights.as<float>()) each = std::sin(++value);
  const ir::ValueId w = graph.add_constant("w", std::move(weights));
  graph.add_output(graph.add_node("n\xFF*\x01", ir::FullyConnected{}, {x, w}));
  formats::save_model(graph, path("m.onnx"));
  const std::string data = path("m.onnx") + " --data " + kExample + " --limit 40 ";
  const Outcome outcome = run("explore " + data + "--budget accuracy-drop=1 --tries 1 --space " +
                              path("s.toml") + " --recipe-out " + path("r.toml") + " --front " +
                              path("f.svg") + " --state " + path("s.json"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::HasSubstr("n\\xFF*\\x01"));
  EXPECT_THAT(text_of(path("r.toml")), testing::HasSubstr("\"n\\\\xFF\\\\*\\\\x01\""));
  const std::string quantize = "quantize " + data + " -o " + path("m.circle");
  EXPECT_EQ(run(quantize + " --recipe " + path("r.toml")).code, 0);
  const Outcome estimate =
      run("estimate " + path("m.onnx") + " --accelerator edge-2bit --recipe " + path("r.toml") +
          " --timeline " + path("t.svg") + " --roofline " + path("p.svg"));
  ASSERT_EQ(estimate.code, 0) << estimate.err;
  for (const char* file : {"f.svg", "t.svg", "p.svg"}) {
    const std::string text = text_of(path(file));
    EXPECT_EQ(printable(text), text) << file;
  }
  EXPECT_THAT(text_of(path("t.svg")), testing::HasSubstr("n\\xFF*\\x01"));
}

TEST_F(ProgramExplore, TellsTheDesignAsText) {
  const std::string plain = arguments().substr(0, arguments().size() - 7);
  const Outcome outcome = run(plain + " --tries 1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::HasSubstr("estimates by the tiles model, not measurements"));
  EXPECT_THAT(outcome.out, testing::HasSubstr("Chosen: 2-bit edge design\n  unit.bit-serial "));
  EXPECT_THAT(outcome.out, testing::HasSubstr("accuracy drop "));
}

TEST_F(ProgramExplore, RejectsBadInputInOneLine) {
  expect_failure("explore " + kModel + " --data " + kExample, 2, "--space is required");
  expect_failure(arguments() + "--objective area", 2, "--objective");
  expect_failure(arguments("size=3"), 2, "budget 'size=3': expected area=MM2");
  expect_failure(arguments() + "--test-limit 3", 2, "--test-limit requires --test-data");
  expect_failure(arguments("area=0.1"), 4, "no hardware of the space has an area");
  std::ofstream(path("other.toml")) << "a = 1\n";
  expect_failure(arguments() + "--state " + path("other.toml"), 3,
                 "other.toml: expected measured losses");
  std::ofstream(path("s.toml"), std::ios::app) << "[[layer]]\nname = \"x\"\nweight_bits = [2]\n";
  expect_failure(arguments(), 2, "s.toml: line 9: pattern 'x' matches no layer; the layers are: ");
  std::ofstream(path("s.toml"), std::ios::app) << "colour = 3\n";
  expect_failure(arguments(), 2, "unknown key 'colour' in [[layer]]");
}

}  // namespace
}  // namespace halftone
