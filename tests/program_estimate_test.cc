// SPDX-License-Identifier: Apache-2.0
// Networks on described hardware, as users ask for them.
#include <fstream>
#include <nlohmann/json.hpp>

#include "halftone/formats/model.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kTwoBits = " --weight-bits 2 --activation-bits 2";

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

TEST_F(Program, CountsTheWorkOfANetwork) {
  const json found = json::parse(run("inspect " + kModel + " --work --batch 3 --json").out);
  const json& dense = found["work"][0];
  EXPECT_EQ(dense["operator"], "FullyConnected");
  EXPECT_EQ(dense["products"], 3 * 784 * 700);
  EXPECT_EQ(dense["matrix"]["rows"], 3);
  EXPECT_EQ(dense["matrix"]["weights"], "float32");
  EXPECT_THAT(run("inspect " + kModel + " --work").out,
              HasSubstr("products of float32 x float32: 555800"));
  EXPECT_FALSE(json::parse(run("inspect " + kModel + " --json").out).contains("work"));
  expect_failure("inspect " + kModel + " --batch 3", 2, "--batch requires --work");
}

TEST_F(Program, EstimatesTheBatchThatANetworkIsFixedTo) {
  ir::Graph graph;
  const ir::ValueId x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, ir::Shape{4, 16}));
  const ir::ValueId w = graph.add_constant("w", ir::Tensor(ir::ElementType::kFloat32, {10, 16}));
  graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {x, w}));
  formats::save_model(graph, path("fixed.onnx"));
  const std::string command = "estimate " + path("fixed.onnx") + " --accelerator h100 --json";
  const json found = json::parse(run(command).out);
  EXPECT_EQ(found["batch"], 4);
  EXPECT_EQ(found["layers"][0]["matrix"]["rows"], 4);
  EXPECT_EQ(run(command + " --batch 4").out, run(command).out);
  expect_failure(command + " --batch 3", 2, "expected 4, which the network is fixed to, found 3");
  expect_failure("inspect " + path("fixed.onnx") + " --work --batch 3", 2,
                 "expected 4, which the network is fixed to, found 3");
}

TEST_F(Program, EstimatesANetworkOnEveryAcceleratorOfTheProgram) {
  const Outcome list = run("estimate --list");
  for (const char* name :
       {"a100", "a100-eager", "h100", "h200", "tpu-v1", "edge-2bit", "cortex-m4"}) {
    EXPECT_THAT(list.out, HasSubstr(name));
    const std::string command = "estimate " + kModel + " --accelerator " + name +
                                " --scheme affine --weight-bits 8 --activation-bits 8";
    const Outcome text = run(command);
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("Estimate, not a measurement"));
    const json found = json::parse(run(command + " --json").out);
    EXPECT_EQ(found["kind"], "estimate");
    double sum = 0;
    for (const json& layer : found["layers"]) sum += layer["seconds"].get<double>();
    EXPECT_DOUBLE_EQ(found["seconds"].get<double>(), sum);
    EXPECT_GT(found["energy_joules"], 0);
    // The same bytes for any number of threads.
    EXPECT_EQ(run(command + " --json --threads 1").out, run(command + " --json --threads 3").out);
  }
}

TEST_F(Program, EstimatesByBitsOfAFileOrARecipe) {
  const std::string on_edge = " --accelerator edge-2bit --method roofline --json";
  const auto compute = [&](const std::string& options) {
    const json found = json::parse(run("estimate " + kModel + options + on_edge).out);
    for (const json& layer : found["layers"]) {
      if (layer["operator"] == "FullyConnected") return layer["compute_seconds"].get<double>();
    }
    return 0.0;
  };
  // Bit-serial units: four times as fast with half of the bits of both factors.
  EXPECT_NEAR(compute(" --weight-bits 4 --activation-bits 4") /
                  compute(" --weight-bits 2 --activation-bits 2"),
              4, 1e-9);
}

TEST_F(Program, DescribesWhatItEstimates) {
  const Outcome text = run("estimate --accelerator a100 --describe");
  EXPECT_THAT(text.out, HasSubstr("name = \"NVIDIA A100 80GB SXM\""));
  write_text(path("copy.toml"), text.out);
  const std::string options = kModel + " --json --accelerator ";
  EXPECT_EQ(run("estimate " + options + "a100").out,
            run("estimate " + options + path("copy.toml")).out);
}

TEST_F(Program, RunsProductsInTiles) {
  const Outcome text =
      run("estimate " + kModel + " --accelerator edge-2bit --execute" + std::string(kTwoBits));
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("equal"));
  const json found = json::parse(run("estimate --product 9x70x33 --accelerator edge-2bit --execute "
                                     "--json" +
                                     std::string(kTwoBits))
                                     .out)["executed"][0];
  EXPECT_EQ(found["moved_bytes"], found["estimated_bytes"]);
  EXPECT_TRUE(found["refusal"].is_null());
}

TEST_F(Program, DrawsEstimates) {
  const std::string command = "estimate " + kModel + " --accelerator tpu-v1 --method events" +
                              " --scheme affine --weight-bits 8 --activation-bits 8";
  const Outcome done =
      run(command + " --timeline " + path("t.json") + " --roofline " + path("r.svg"));
  EXPECT_EQ(done.code, 0) << done.err;
  const json trace = json::parse(text_of(path("t.json")))["traceEvents"];
  EXPECT_EQ(trace[0]["ph"], "M");
  EXPECT_GT(trace.size(), 5U);
  EXPECT_THAT(text_of(path("r.svg")), HasSubstr("<svg"));
  EXPECT_THAT(text_of(path("r.svg")), HasSubstr("products per byte"));
  EXPECT_EQ(run(command + " --timeline " + path("t.svg")).code, 0);
  EXPECT_THAT(text_of(path("t.svg")), HasSubstr("<rect"));
}

TEST_F(Program, EstimatesLanguageModelsByTheirShape) {
  write_text(path("config.json"),
             R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 22,
                 "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 5632,
                 "vocab_size": 32000})");
  const std::string command = "estimate --llm " + path("config.json") +
                              " --accelerator h100 --weight-bits 4 --group-size 32";
  EXPECT_THAT(run(command).out, HasSubstr("tokens/s"));
  const json found = json::parse(run(command + " --json").out);
  EXPECT_NEAR(found["parameters"].get<double>(), 1.1e9, 1e7);
  EXPECT_GT(found["prompt"]["seconds"], 0);
  EXPECT_LT(found["batches"][0]["tokens_per_second"], found["batches"][3]["tokens_per_second"]);
  write_text(path("config.json"), "{}");
  expect_failure(command, 3, "needs 'model_type'");
  write_text(path("config.json"), R"({"model_type": "rwkv", "hidden_size": 4096})");
  expect_failure(command, 4, "architecture 'rwkv' (model_type): its blocks are not described here");
}

TEST_F(Program, EstimatesTrainingAndSeveralDevices) {
  const std::string command = "estimate " + kModel + " --accelerator h100 --batch 64 --json";
  const auto seconds = [&](const std::string& options) {
    return json::parse(run(command + options).out)["seconds"].get<double>();
  };
  EXPECT_GT(seconds(" --training"), 2 * seconds(""));
  for (const char* split : {"data", "tensor", "pipeline"}) {
    EXPECT_GT(seconds(std::string(" --devices 2 --split ") + split), 0);
  }
}

TEST_F(Program, MarksEnergiesAsGuesses) {
  const std::string command =
      "estimate --product 8192x8192x8192 --accelerator a100"
      " --weight-bits 16 --activation-bits 16";
  EXPECT_THAT(run(command).out, HasSubstr("energy, a guess: "));
  const json found = json::parse(run(command + " --json").out);
  EXPECT_EQ(found["energy_is_guess"], true);
  // The data sheet says 400 W.
  EXPECT_NEAR(found["watts"].get<double>(), 400, 100);
  EXPECT_DOUBLE_EQ(found["idle_joules"].get<double>(), 60 * found["seconds"].get<double>());
  EXPECT_DOUBLE_EQ(found["active_joules"].get<double>(), 110 * found["seconds"].get<double>());
}

TEST_F(Program, LeavesOutGradientsThatNobodyNeedsInTraining) {
  const json found = json::parse(
      run("estimate " + kModel + " --accelerator h100 --batch 8 --training --json").out);
  double products = 0;
  for (const json& layer : found["layers"]) products += layer["products"].get<double>();
  // 784-700-10: forward, both gradients of weights, and the gradient of the second layer's inputs.
  EXPECT_EQ(products, 8 * (2 * (784 * 700 + 700 * 10) + 700 * 10));
}

TEST_F(Program, RefusesOptionsThatAnEstimateDoesNotRead) {
  write_text(path("config.json"),
             R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
                 "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 32})");
  const std::string shape = "estimate --accelerator h100 --llm " + path("config.json");
  for (const char* option : {"--training", "--execute", "--shape x=1", "--constant x=1",
                             "--recipe none.toml", "--scheme int", "--arithmetic float"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    expect_failure(shape + " " + option, 2, name + " does nothing with --llm: leave it out");
  }
  const std::string product = "estimate --accelerator h100 --product 4x4x4 ";
  for (const char* option : {"--training", "--shape x=1", "--recipe none.toml", "--scheme int",
                             "--batch 2", "--prompt 4", "--group-size 4", "--cache-bits 4"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    expect_failure(product + option, 2, name + " does nothing with --product: leave it out");
  }
  expect_failure(product + "--execute --roofline r.svg", 2,
                 "--roofline does nothing with --execute: leave it out");
  expect_failure("estimate --list --batch 2", 2, "--batch does nothing with --list");
  expect_failure("estimate " + kModel + " --accelerator h100 --context 8", 2,
                 "--context does nothing with a network");
  expect_failure("estimate " + kModel + " --accelerator h100 --describe", 2,
                 "the network does nothing with --describe");
}

TEST_F(Program, RefusesWhatItCannotEstimate) {
  const std::string on_h100 = " --accelerator h100";
  expect_failure("estimate " + kModel, 2, "estimate needs --accelerator");
  expect_failure("estimate" + on_h100, 2, "estimate needs one of: a network, --llm config.json");
  expect_failure("estimate " + kModel + " --product 1x1x1" + on_h100, 2, "estimate needs one of");
  expect_failure("estimate " + kModel + " --accelerator abacus", 2, "no accelerator 'abacus'");
  expect_failure("estimate " + kModel + " --accelerator ./none.toml", 3, "none.toml");
  expect_failure("estimate --product 10x20" + on_h100, 2, "expected ROWSxINNERxCOLUMNS");
  expect_failure("estimate --product 0x20x3" + on_h100, 2, "expected ROWSxINNERxCOLUMNS");
  expect_failure("estimate " + kModel + on_h100 + " --devices 2", 4,
                 "a data split over 2 devices needs as many samples, found 1");
  expect_failure("estimate " + kModel + " --accelerator cortex-m4", 4, "use more devices");
  expect_failure("estimate " + kModel + " --accelerator tpu-v1", 4,
                 "no unit multiplies weights of float32 with inputs of float32");
  write_text(path("a.toml"), "name = \"a\"\ncolour = 1\n");
  expect_failure("estimate " + kModel + " --accelerator " + path("a.toml"), 2,
                 "a.toml: line 2: unknown key 'colour' in the description");
  expect_failure("estimate --measure", 2, "--measure needs -o");
  expect_failure("estimate --measure --device opencl:99 -o " + path("b.toml"), 5,
                 "no device opencl:99");
  expect_failure("estimate --device cpu --list", 2, "--device requires --measure");
  expect_failure("bench " + kModel + " --accelerator none.toml", 3, "none.toml");
}

TEST_F(Program, MeasuresTheProcessorAtHand) {
  const std::string file = path("here.toml");
  const Outcome done = run("estimate --measure --threads 1 -o " + file);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("median error"));
  const Outcome found = run("estimate " + kModel + " --accelerator " + file);
  EXPECT_THAT(found.out, HasSubstr("Compared with this hardware: median error"));
  const std::string bench = "bench " + kModel + " --seconds 0 --accelerator " + file;
  EXPECT_THAT(run(bench).out, HasSubstr("predicted for "));
  const json predicted = json::parse(run(bench + " --json").out);
  EXPECT_GT(predicted["predicted_us"], 0);
  EXPECT_GT(predicted["layers"][0]["predicted_us"], 0);
}

}  // namespace
}  // namespace halftone
