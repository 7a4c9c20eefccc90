// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "halftone/report/classes.h"

namespace halftone::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAreArray;

std::vector<std::string> keys(const json& object) {
  std::vector<std::string> result;
  for (const auto& item : object.items()) result.push_back(item.key());
  return result;
}

ir::Graph tanh_network() {
  ir::Graph graph;
  const auto x =
      graph.add_input("x\xff", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 4}));
  graph.add_output(graph.add_node("t", ir::Unary{{ir::ActivationKind::kTanh, 0, 0}}, {x}));
  return graph;
}

TEST(ResultClasses, HaveTheKeysOfTheJsonOnceEachAndSentencesWithoutAStop) {
  const auto classes = result_classes();
  const auto expect_keys = [&](const char* name, const std::string& result) {
    std::vector<std::string> listed;
    for (const auto& [key, text] : classes.at(name)) listed.push_back(key);
    EXPECT_THAT(listed, UnorderedElementsAreArray(keys(json::parse(result)))) << name;
  };
  expect_keys("QuantizeReport", to_json(QuantizeReport{}));
  expect_keys("Evaluation",
              to_json(compress::Evaluation{.metric = {}, .reference = compress::Comparison{}}));
  expect_keys("LanguageDistillReport", to_json(v0::LanguageDistillReport{}));
  expect_keys("CrossbarReport", to_json(CrossbarReport{}));
  for (const auto& [name, rows] : classes) {
    std::set<std::string> seen;
    for (const auto& [key, text] : rows) {
      EXPECT_TRUE(seen.insert(key).second) << name << " " << key;
      EXPECT_FALSE(text.ends_with('.')) << name << " " << key;
    }
  }
}

TEST(InspectionReport, HasTheKeysOfTheContract) {
  const json found = json::parse(to_json(inspect(tanh_network(), "onnx", 99)));
  for (const char* key :
       {"format", "parameters", "bytes", "inputs", "outputs", "operators", "layers"}) {
    EXPECT_TRUE(found.contains(key)) << key;
  }
  EXPECT_EQ(found["bytes"], 99);
  EXPECT_EQ(found["inputs"][0]["shape"], json::parse(R"(["N", 4])"));
  EXPECT_EQ(found["inputs"][0]["type"], "float32");
  EXPECT_EQ(found["operators"]["Tanh"], 1);
  EXPECT_THAT(to_text(inspect(tanh_network(), "onnx", 99)), HasSubstr("t: float32[N, 4] = Tanh("));
}

TEST(InspectionReport, HasASummaryOfOneLine) {
  EXPECT_EQ(to_summary(inspect(tanh_network(), "onnx", 99)), "onnx file, 1 operator, 99 B\n");
}

TEST(TrainReport, HasALineForAnEpoch) {
  EXPECT_EQ(to_line(0, {0.25, 0.5, {}, 1e-3, 1.26}, true),
            "epoch 1: loss 0.2500, agreement 50.00 %, 1.3 s");
  EXPECT_EQ(to_line(9, {0.125, 0.75, 0.5, 1e-3, 2}, false),
            "epoch 10: loss 0.1250, accuracy 75.00 %, validation 50.00 %, 2.0 s");
}

TEST(QuantizeReport, HasTheKeysOfTheContractAndNullForInfinity) {
  compress::LayerReport layer;
  layer.name = "dense1";
  layer.op = "FullyConnected";
  layer.weight_bits = 2;
  layer.sqnr_db = 12.5;
  layer.weight_sqnr_db = std::numeric_limits<double>::infinity();
  compress::LayerReport other = layer;
  layer.activation_range = {-0.5F, 2.0F};
  QuantizeReport report{1000, 100, 1.5, {layer, other}};
  EXPECT_EQ(json::parse(to_json(report))["equalized_pairs"], 0);
  EXPECT_THAT(to_text(report), Not(HasSubstr("equalized")));
  report.equalized_pairs = 3;
  report.warnings = {"a sample is left out"};
  report.input_weight_bytes = 900;
  report.output_weight_bytes = 90;
  const json found = json::parse(to_json(report));
  EXPECT_EQ(found["input_bytes"], 1000);
  EXPECT_EQ(found["output_bytes"], 100);
  EXPECT_EQ(found["seconds"], 1.5);
  EXPECT_EQ(found["equalized_pairs"], 3);
  EXPECT_EQ(found["layers"][0]["name"], "dense1");
  EXPECT_EQ(found["layers"][0]["weight_bits"], 2);
  EXPECT_EQ(found["layers"][0]["activation_bits"], 32);
  EXPECT_EQ(found["layers"][0]["activation_range"], json::parse("[-0.5, 2.0]"));
  EXPECT_TRUE(found["layers"][1]["activation_range"].is_null());
  EXPECT_EQ(found["layers"][0]["sqnr_db"], 12.5);
  EXPECT_TRUE(found["layers"][0]["weight_sqnr_db"].is_null());
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("weights 900 B -> 90 B (10.0x smaller)\nfile    1000 B -> 100 B in"));
  EXPECT_EQ(found["warnings"][0], "a sample is left out");
  EXPECT_EQ(found["input_weight_bytes"], 900);
  report.output_weight_bytes = 1800;
  EXPECT_THAT(to_text(report), HasSubstr("900 B -> 1800 B (2.0x larger)"));
  report.output_weight_bytes = 899;
  EXPECT_THAT(to_text(report), HasSubstr("900 B -> 899 B (as large)"));
  EXPECT_THAT(text, HasSubstr("\nequalized: 3 pairs of layers\n"));
  EXPECT_THAT(text, HasSubstr("float"));
}

TEST(EvaluationReport, ShowsAReferenceOnlyIfThereIsOne) {
  compress::Evaluation evaluation{"accuracy", 0.9768, 10000, {}};
  EXPECT_THAT(keys(json::parse(to_json(evaluation))),
              testing::UnorderedElementsAre("metric", "value", "samples"));
  EXPECT_THAT(to_text(evaluation), HasSubstr("accuracy 97.68 % of 10000 samples"));
  evaluation.reference = compress::Comparison{{}, 0.5, 20};
  const json found = json::parse(to_json(evaluation));
  EXPECT_TRUE(found["reference"]["value"].is_null());
  EXPECT_EQ(found["reference"]["agreement"], 0.5);
  EXPECT_EQ(found["reference"]["sqnr_db"], 20);
  EXPECT_THAT(to_text(evaluation), HasSubstr("same answer as the reference 50.00 %"));
}

TEST(CrossbarReport, HasTheKeysOfTheContract) {
  CrossbarReport report;
  report.device.name = "d.toml";
  crossbar::NetworkResult& result = report.result;
  result.metric = "accuracy";
  result.samples = 100;
  result.digital = 0.75;
  result.values = {0.5, 0.75};
  result.mean = 0.625;
  result.deviation = 0.125;
  result.agreement = 0.875;
  crossbar::LayerUse layer{"dense", "FullyConnected", "", 100, 10, 2, 3};
  layer.arrays = 4;
  layer.cells = 1000;
  layer.conversions = 60;
  layer.joules = 1.5e-9;
  layer.seconds = 2e-6;
  result.layers = {layer, {"first", "Conv", "the input is not encoded"}};
  const json found = json::parse(to_json(report));
  EXPECT_THAT(keys(found),
              testing::UnorderedElementsAre("device", "metric", "samples", "digital", "mean",
                                            "deviation", "values", "agreement", "equal", "arrays",
                                            "cells", "conversions", "joules", "seconds", "layers"));
  EXPECT_EQ(found["values"], (json{0.5, 0.75}));
  EXPECT_EQ(found["layers"][0]["conversions"], 60);
  EXPECT_TRUE(found["layers"][0]["digital"].is_null());
  EXPECT_EQ(found["layers"][1], json::parse(R"({"name": "first", "operator": "Conv",
                                                "digital": "the input is not encoded"})"));
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("accuracy 62.50 % of 100 samples, standard deviation 12.50 over 2 "
                              "devices; digital network 75.00 %\n"));
  EXPECT_THAT(text, HasSubstr("same answer as the digital network 87.50 %"));
  EXPECT_THAT(text, HasSubstr("1.5 nJ  2 us"));
  EXPECT_THAT(text, HasSubstr("digital: first (Conv): the input is not encoded\n"));
}

TEST(TrainReport, HasEveryEpoch) {
  const TrainReport summary{2000, 100, 1.5, {{0.25, 0.5}, {0.125, 0.75}}};
  EXPECT_EQ(json::parse(to_json(summary)),
            json::parse(R"({"input_bytes": 2000, "output_bytes": 100, "seconds": 1.5,
                            "epochs": [
                              {"loss": 0.25, "agreement": 0.5, "learning_rate": 0.0, "rate": 0.0,
                               "seconds": 0.0},
                              {"loss": 0.125, "agreement": 0.75, "learning_rate": 0.0, "rate": 0.0,
                               "seconds": 0.0}]})"));
  EXPECT_THAT(to_text(summary),
              testing::AllOf(HasSubstr("0.1250   75.00 %"), HasSubstr("100 B in 1.5 s")));
}

TEST(TrainReport, NamesTheLayersThatACrossbarDoesNotCompute) {
  TrainReport summary{2000, 100, 1.5, {{0.25, 0.5}}};
  EXPECT_FALSE(json::parse(to_json(summary)).contains("layers"));
  summary.layers = {{"first", "Conv", "the input is not encoded"}, {"dense", "FullyConnected", ""}};
  const json found = json::parse(to_json(summary));
  ASSERT_EQ(found["layers"].size(), 2U);
  EXPECT_EQ(found["layers"][0]["digital"], "the input is not encoded");
  EXPECT_TRUE(found["layers"][1]["digital"].is_null());
  EXPECT_THAT(to_text(summary),
              testing::EndsWith("\ndigital: first (Conv): the input is not encoded\n"));
}

TEST(TrainReport, SaysWhichEpochWasTheBest) {
  const TrainReport summary{2000, 100, 1.5, {{0.25, 0.5, 0.625, 0.1, 2}, {0.125, 0.75, 0.5}}, 0};
  const json found = json::parse(to_json(summary));
  EXPECT_EQ(found["best_epoch"], 1);
  EXPECT_EQ(found["epochs"][0]["validation_accuracy"], 0.625);
  EXPECT_EQ(found["epochs"][0]["held_out"], 0.625);
  EXPECT_EQ(found["epochs"][0]["learning_rate"], 0.1);
  EXPECT_EQ(found["epochs"][0]["rate"], 0.1);
  EXPECT_EQ(found["epochs"][0]["seconds"], 2);
  EXPECT_THAT(to_text(summary), testing::AllOf(HasSubstr("75.00 %     50.00 %"),
                                               HasSubstr("100 B, of epoch 1 in 1.5 s")));
}

TEST(RunReport, NamesTheFiles) {
  const std::vector<OutputFile> outputs = {
      {"o/out0.npy", ir::dense_type(ir::ElementType::kFloat32, {3, 10})}};
  EXPECT_EQ(
      json::parse(to_json(outputs)),
      json::parse(R"({"outputs": [{"file": "o/out0.npy", "type": "float32", "shape": [3, 10]}]})"));
  EXPECT_EQ(to_text(outputs), "o/out0.npy float32[3, 10]\n");
}

TEST(BenchReport, HasTheKeysOfTheContractAndReasonsOnRequest) {
  const auto plan = runtime::make_plan(tanh_network(), {2, 1});
  runtime::Profile profile;
  profile.devices = 3;
  profile.batch = 5;
  profile.median_us = 3;
  profile.step_median_us.assign(plan->steps().size(), 1.0);
  MeasuredPlan measurement{plan, profile};
  const json found = json::parse(to_json(measurement));
  EXPECT_EQ(found["batch"], 5);
  EXPECT_EQ(found["devices"], 3);
  EXPECT_EQ(found["threads"], 1);
  EXPECT_EQ(found["latency_us"]["median"], 3);
  EXPECT_TRUE(found["latency_us"].contains("p10") && found["latency_us"].contains("p99"));
  EXPECT_EQ(found["memory"]["weights"], plan->packed_weight_bytes());
  EXPECT_EQ(found["memory"]["arena"], plan->arena_bytes());
  EXPECT_EQ(found["memory"]["constants"], plan->constant_bytes());
  for (const char* key :
       {"name", "operator", "kernel", "arithmetic", "variant", "slow", "median_us", "products"}) {
    EXPECT_TRUE(found["layers"][0].contains(key)) << key;
  }
  EXPECT_THAT(
      to_text(measurement, true),
      testing::AllOf(HasSubstr("batch 5, 3 devices, 1 thread each"), HasSubstr(" because ")));
  EXPECT_THAT(to_text(measurement, false), testing::Not(HasSubstr(" because ")));
  EXPECT_TRUE(found["accelerator"].is_null() && found["predicted_us"].is_null());
  measurement.predicted = {"a card", 7, std::vector<double>(plan->steps().size(), 2.25)};
  const json predicted = json::parse(to_json(measurement));
  EXPECT_EQ(predicted["accelerator"], "a card");
  EXPECT_EQ(predicted["predicted_us"], 7);
  EXPECT_EQ(predicted["layers"][0]["predicted_us"], 2.25);
  EXPECT_THAT(to_text(measurement, false),
              testing::AllOf(HasSubstr("predicted for a card: 7.0 us"), HasSubstr("2.25")));
}

}  // namespace
}  // namespace halftone::report
