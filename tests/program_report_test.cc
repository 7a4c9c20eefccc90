// SPDX-License-Identifier: Apache-2.0
// The page about a network, as users make it.
#include <fstream>
#include <nlohmann/json.hpp>

#include "halftone/formats/model.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ProgramReport : public Program {
 protected:
  [[nodiscard]] std::string page() const { return path("r.html"); }

  /// Makes the page and returns its text.
  [[nodiscard]] std::string page_of(const std::string& arguments) const {
    const Outcome outcome = run("report " + arguments + " -o " + page());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, testing::StartsWith(page() + ", "));
    return text_of(page());
  }

  /// The JSON inside a page.
  static json data_in(const std::string& html) {
    const std::string begin = "<script type=\"application/json\" id=halftone-report>";
    const std::size_t from = html.find(begin) + begin.size();
    return json::parse(html.substr(from, html.find("</script>", from) - from));
  }

  /// A file of a network whose names are markup.
  [[nodiscard]] std::string network_with_markup() const {
    ir::Graph graph;
    const ir::ValueId x =
        graph.add_input("<img src=x>", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 2}));
    const std::vector<float> numbers{1, 2, 3, 4};
    const ir::ValueId w =
        graph.add_constant("w", ir::Tensor::from<float>({2, 2}, std::span(numbers)));
    graph.add_output(graph.add_node("</script><b>\"&'</b>", ir::FullyConnected{}, {x, w}));
    formats::save_model(graph, path("m.onnx"));
    return path("m.onnx");
  }

  const std::string data_ = " --data " + kExample + " --limit 300";
};

TEST_F(ProgramReport, HasTheNumbersOfEvalAndBench) {
  const std::string model = quantize_weights(2);
  const std::string compared = model + " --reference " + kModel + data_;
  const json found = data_in(page_of(compared + " --time"));
  const Outcome eval = run("eval " + compared + " --json");
  ASSERT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(found["model"]["evaluation"], json::parse(eval.out));
  EXPECT_EQ(found["reference"]["evaluation"]["value"], json::parse(eval.out)["reference"]["value"]);

  const Outcome bench = run("bench " + model + " --json --seconds 0");
  ASSERT_EQ(bench.code, 0) << bench.err;
  json measured = json::parse(bench.out);
  json shown = found["model"]["bench"];
  EXPECT_GT(shown["latency_us"]["median"].get<double>(), 0);
  EXPECT_EQ(shown["layers"].size(), measured["layers"].size());
  for (json* each : {&measured, &shown}) {
    each->erase("latency_us");
    for (json& layer : (*each)["layers"]) layer.erase("median_us");
  }
  EXPECT_EQ(shown, measured);

  const Outcome inspect = run("inspect " + model + " --json");
  const json layers = json::parse(inspect.out)["layers"];
  ASSERT_EQ(found["model"]["layers"].size(), layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const auto& [key, value] : layers[i].items()) {
      if (key.ends_with("_encoding")) continue;  // the page does not show them
      EXPECT_EQ(found["model"]["layers"][i][key], value) << key;
    }
  }
}

TEST_F(ProgramReport, HasTheErrorsThatQuantizeReports) {
  const std::string model = path("m.circle");
  const std::string data = " --data " + kExample + " --split train --limit 200";
  const Outcome quantized = run("quantize " + kModel + " -o " + model + " --json" + " --data " +
                                kExample + " --limit 200");
  ASSERT_EQ(quantized.code, 0) << quantized.err;
  const json expected = json::parse(quantized.out)["layers"];
  const json found = data_in(page_of(model + " --reference " + kModel + data))["model"]["layers"];
  ASSERT_EQ(found.size(), 2U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    // The file has scales as the fit had them, so the values are the same bits.
    EXPECT_EQ(found[i]["sqnr_db"], expected[i]["sqnr_db"]);
    EXPECT_EQ(found[i]["weight_sqnr_db"], expected[i]["weight_sqnr_db"]);
    EXPECT_EQ(found[i]["weight_histogram"]["levels"].size(), 8U);
    EXPECT_EQ(found[i]["input_histogram"]["thresholds"].size(), 7U);
  }
  // Nothing is before the first layer.
  EXPECT_EQ(found[0]["sqnr_alone_db"], found[0]["sqnr_db"]);
  EXPECT_NE(found[1]["sqnr_alone_db"], found[1]["sqnr_db"]);
}

TEST_F(ProgramReport, GivesTheSameBytesForAnyThreads) {
  const std::string arguments = quantize_weights(2) + " --reference " + kModel + data_;
  const std::string one = page_of(arguments + " --threads 1");
  EXPECT_EQ(page_of(arguments + " --threads 2 --devices 3"), one);
  EXPECT_THAT(one, Not(HasSubstr("://")));
  EXPECT_THAT(one, Not(HasSubstr(HALFTONE_SOURCE_DIR)));
  EXPECT_THAT(one, HasSubstr("<img alt=\"Sample "));
}

TEST_F(ProgramReport, ShowsWhatItCanWithoutDataAndReference) {
  const std::string html = page_of(kModel);
  EXPECT_THAT(html, HasSubstr("No samples were given. With --data, "));
  EXPECT_THAT(html, HasSubstr("No float network was given. With --reference and --data, "));
  EXPECT_THAT(html, HasSubstr("No times were measured. With --time, "));
  const json found = data_in(html);
  EXPECT_FALSE(found.contains("data"));
  EXPECT_FALSE(found.contains("worst"));
  EXPECT_FALSE(found["model"].contains("evaluation"));
  EXPECT_GT(found["model"]["layers"][0]["weight_histogram"]["counts"].size(), 1U);
  EXPECT_FALSE(found["model"]["layers"][0].contains("input_histogram"));
  EXPECT_NE(found["model"]["layers"][0]["kernel"], "");
  EXPECT_EQ(found["graph"][0]["operator"], "Input");
}

TEST_F(ProgramReport, ShowsTwoModelsSideBySide) {
  const std::string model = quantize_weights(2);
  const std::string html = page_of(kModel + " --beside " + model + data_);
  EXPECT_THAT(html, HasSubstr("bits, beside"));
  const json found = data_in(html);
  EXPECT_EQ(found["model"]["layers"][0]["weight_bits"], 32);
  EXPECT_EQ(found["beside"]["layers"][0]["weight_bits"], 2);
  EXPECT_EQ(found["beside"]["evaluation"]["metric"], "accuracy");
  EXPECT_EQ(found["worst"]["measure"], "loss");
}

TEST_F(ProgramReport, ShowsSeveralModelsAndNamesClasses) {
  const std::string model = quantize_weights(2);
  std::ofstream(path("classes.txt")) << "zero\none\ntwo\n";
  const std::string html =
      page_of(model + " --beside " + kModel + " --beside " + model + " --reference " + kModel +
              data_ + " --classes " + path("classes.txt"));
  EXPECT_THAT(html, HasSubstr("bits, beside 2"));
  const json found = data_in(html);
  EXPECT_EQ(found["beside"]["layers"][0]["weight_bits"], 32);
  EXPECT_EQ(found["more_beside"][0]["layers"][0]["weight_bits"], 2);
  EXPECT_EQ(found["classes"], json({"zero", "one", "two"}));
  std::int64_t samples = 0;
  for (const json& row : found["model"]["confusion"]) {
    for (const json& count : row) samples += count.get<std::int64_t>();
  }
  EXPECT_EQ(samples, 300);
}

TEST_F(ProgramReport, EstimatesWhatEachLayerLosesAsSensitivityDoes) {
  const std::string model = quantize_weights(2);
  const std::string compared = model + " --reference " + kModel + data_;
  const json found = data_in(page_of(compared));
  const Outcome outcome = run("sensitivity " + compared + " --split test --no-time --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json expected = json::parse(outcome.out)["choices"][0]["layers"];
  for (std::size_t i = 0; i < 2; ++i) {
    const json& layer = found["model"]["layers"][i];
    EXPECT_EQ(layer["loss"], expected[i]["weighted_error"]);
    EXPECT_GT(layer["eight_bit_bytes"].get<int>(), layer["weight_bytes"].get<int>());
  }
  EXPECT_EQ(found["model"]["causes"]["kind"], "kl");
  EXPECT_FALSE(found["verdict"]["causes"].empty());
}

TEST_F(ProgramReport, EscapesNamesWithMarkup) {
  const std::string html = page_of(network_with_markup());
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_THAT(html, Not(HasSubstr("<img src=x>")));
  EXPECT_THAT(html, HasSubstr("&lt;/script&gt;&lt;b&gt;&quot;&amp;'"));
  EXPECT_EQ(data_in(html)["model"]["layers"][0]["name"], "</script><b>\"&'</b>");
}

TEST_F(ProgramReport, ShowsResultsOfOtherVerbs) {
  std::ofstream(path("s.json")) << R"({"front": [{"bytes": 2048, "loss": 0.5, "us": 7},
      {"bytes": 4096, "loss": 0.25}], "chosen": {"bytes": 4096, "loss": 0.25}})";
  std::ofstream(path("t.json")) << R"({"epochs": [{"loss": 2.5, "agreement": 0.5, "seconds": 1},
      {"loss": 1.5, "agreement": 0.75, "validation_accuracy": 0.625, "seconds": 1}]})";
  std::ofstream(path("c.json")) << R"({"loss": "kl", "layers": [{"name": "dense1"}],
      "units": [{"layers": [0]}],
      "choices": [{"name": "w2", "units": [{"loss": 0.5, "bytes": 8}]}]})";
  const std::string html = page_of(kModel + " --search " + path("s.json") + " --training " +
                                   path("t.json") + " --sensitivity " + path("c.json"));
  EXPECT_THAT(html, HasSubstr("Front of s.json"));
  EXPECT_THAT(html, HasSubstr("validation_accuracy"));
  const json found = data_in(html);
  EXPECT_EQ(found["sensitivities"][0]["units"][0]["losses"], json({0.5}));
  EXPECT_EQ(found["searches"][0]["front"][0]["us"], 7);
  EXPECT_EQ(found["searches"][0]["chosen"]["bytes"], 4096);
  EXPECT_EQ(found["trainings"][0]["courses"][0]["rows"][1]["validation_accuracy"], 0.625);
}

TEST_F(ProgramReport, WritesOverlaysOfEveryMeasure) {
  static_cast<void>(page_of(quantize_weights(2) + " --reference " + kModel + data_ + " --overlay " +
                            path("o.json")));
  for (const std::string measure : {"bits", "bytes", "sqnr", "sqnr-alone"}) {
    const json overlay = json::parse(text_of(path("o-" + measure + ".json")));
    EXPECT_EQ(overlay["results"].size(), 2U) << measure;
  }
  EXPECT_FALSE(std::filesystem::exists(path("o-us.json")));
}

TEST_F(ProgramReport, PrintsTheSameJsonThatThePageHas) {
  const Outcome outcome = run("report " + kModel + " -o " + page() + " --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out), data_in(text_of(page())));
}

TEST_F(ProgramReport, SaysNothingWhenQuiet) {
  EXPECT_EQ(run("report " + kModel + " --quiet -o " + page()).out, "");
  EXPECT_TRUE(std::filesystem::exists(page()));
}

TEST_F(ProgramReport, SaysWhyLayersCannotBeCompared) {
  const std::string other = network_with_markup();
  const std::string html = page_of(kModel + " --reference " + other);
  EXPECT_THAT(html, HasSubstr("errors of layers: layers do not match: expected 1 as in the "
                              "reference, found 2"));
}

TEST_F(ProgramReport, RejectsBadInputInOneLineAndWritesNothing) {
  const std::string out = " -o " + page();
  expect_failure("report " + kModel, 2, "--output is required");
  expect_failure("report missing.onnx" + out, 3, "missing.onnx");
  expect_failure("report " + kModel + " -o " + kModel, 2, "is the file to read ");
  expect_failure("report " + kModel + " -o " + path("no/r.html"), 3, "there is no such folder");
  expect_failure("report " + kModel + " -o " + path("."), 3, "it is a folder");
  expect_failure("report " + kModel + out + " --overlay " + path("no/o.json"), 3,
                 "there is no such folder");
  expect_failure("report " + kModel + out + " --samples-per-run 0", 2, "--samples-per-run");
  expect_failure("report " + kModel + out + " --classes missing.txt", 3, "missing.txt");
  std::ofstream(path("s.json")) << "{";
  expect_failure("report " + kModel + out + " --search " + path("s.json"), 3, "is no JSON");
  std::ofstream(path("s.json")) << R"({"front": [{"bytes": 1}]})";
  expect_failure("report " + kModel + out + " --search " + path("s.json"), 3,
                 "expected what quantize --budget --json prints");
  expect_failure("report " + kModel + out + " --sensitivity " + path("s.json"), 3,
                 "expected what sensitivity --json prints");
  expect_failure("report " + kModel + out + " --training " + path("s.json"), 3,
                 "expected what train --json or distill --json prints");
  expect_failure("report " + network_with_markup() + out + data_, 4,
                 "do not fit the expected shape [2]");
  EXPECT_FALSE(std::filesystem::exists(page()));
}

}  // namespace
}  // namespace halftone
