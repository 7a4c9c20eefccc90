// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "halftone/base/testing.h"
#include "halftone/compress/recipe.h"
#include "halftone/report/page/heat.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/png.h"
#include "halftone/report/page/side_files.h"

namespace halftone::report::page {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Content content_of(const std::string& name) {
  Content content;
  content.report.model.name = name;
  LayerFigures layer{{name, "Conv", "float32[1, 2]"}, ""};
  layer.info.weight_bytes = 8;
  content.report.model.layers.push_back(layer);
  content.report.model.plan = std::make_shared<const runtime::Plan>(runtime::Plan::Parts{});
  return content;
}

TEST(Page, IsWholeWithoutARequest) {
  const std::string html = to_html(content_of("net"));
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* request : {"://", "url(", "@import", " src=", "fetch(", "<link"}) {
    EXPECT_THAT(html, Not(HasSubstr(request)));
  }
  EXPECT_EQ(html, to_html(content_of("net")));
}

TEST(Page, EscapesNamesOfAnyBytes) {
  const std::string html = to_html(content_of("</script><i>\"\xff\x01&amp;"));
  EXPECT_THAT(html, Not(HasSubstr("<i>")));
  EXPECT_THAT(html, HasSubstr("&lt;i&gt;&quot;\\xFF\\x01&amp;amp;"));
  const std::string begin = "id=halftone-report>";
  const std::size_t from = html.find(begin) + begin.size();
  const json data = json::parse(html.substr(from, html.find("</script>", from) - from));
  EXPECT_THAT(data["model"]["name"].get<std::string>(), HasSubstr("</script><i>"));
}

TEST(Page, ShowsExactLayersAndMissingValues) {
  Content content = content_of("net");
  const double infinity = std::numeric_limits<double>::infinity();
  content.report.model.layers[0].error = compress::LayerError{infinity, 12.34};
  const std::string html = to_html(content);
  EXPECT_THAT(html, HasSubstr("<td data-v=Infinity>exact</td>"));
  EXPECT_THAT(html, HasSubstr("<td data-v=12.34>12.3</td>"));
  EXPECT_THAT(html, HasSubstr("<td data-v=-Infinity>-</td>"));  // no error of weights
  EXPECT_TRUE(json::parse(to_json(content))["model"]["layers"][0]["sqnr_db"].is_null());
}

/// A page about a network whose layer i of 103 has an SQNR of i dB, if it has one.
std::string page_of_many_layers(bool has_sqnr) {
  Content content = content_of("net");
  LayerFigures layer = content.report.model.layers[0];
  layer.weights = ValueHistogram{0, 1, {1, 2}, 0, {}, {}};
  content.report.model.layers.clear();
  for (int i = 0; i < 103; ++i) {
    layer.info.name = "layer" + std::to_string(i);
    layer.info.weight_bytes = static_cast<std::size_t>(1000 - i);
    if (has_sqnr) layer.error = compress::LayerError{static_cast<double>(i), 12.34};
    content.report.model.layers.push_back(layer);
  }
  return to_html(content);
}

TEST(Page, DrawsTheValuesOfTheWorstOfManyLayers) {
  const std::string html = page_of_many_layers(true);
  EXPECT_THAT(html, HasSubstr("Of 103 layers, the 100 with the lowest SQNR are drawn"));
  EXPECT_THAT(html, HasSubstr("<summary>layer0:"));
  EXPECT_THAT(html, HasSubstr("<summary>layer99:"));
  EXPECT_THAT(html, Not(HasSubstr("<summary>layer100:")));
  const std::string others = page_of_many_layers(false);
  EXPECT_THAT(others, HasSubstr("Of 103 layers, the 100 with the most bytes are drawn"));
  EXPECT_THAT(others, Not(HasSubstr("<summary>layer102:")));
}

TEST(Page, SaysWhatIsMissing) {
  Content content = content_of("net");
  content.report.missing = {"layers: <none>"};
  EXPECT_THAT(to_html(content), HasSubstr("layers: &lt;none&gt;"));
  content.report.data = "samples";
  EXPECT_THAT(to_html(content), HasSubstr("The samples have no labels."));
  content.report.model.layers.clear();
  EXPECT_THAT(to_html(content), HasSubstr("The network has no layers with weights."));
}

/// A network in 2 bits beside its reference: 4 times smaller, 2 points lost, layer 1 the cause.
Content compared() {
  Content content = content_of("small.circle");
  ModelReport& report = content.report;
  report.reference = report.model;
  report.reference->name = "float net.onnx";
  report.reference->inspection.file_bytes = 4000;
  NetworkFigures& model = report.model;
  model.inspection.file_bytes = 1000;
  model.layers.push_back(model.layers[0]);
  for (std::size_t i = 0; i < 2; ++i) {
    LayerFigures& layer = model.layers[i];
    layer.info.name = layer.reference_name = "conv" + std::to_string(i);
    layer.info.weights = "basis(2 bits)[1, 2]";
    layer.info.weight_bits = layer.info.activation_bits = 2;
    layer.info.weight_bytes = 10;
    layer.error = compress::LayerError{20, 20};
    layer.loss = i == 0 ? 0.01 : 0.03;
    layer.eight_bit_bytes = 40;
  }
  model.evaluation = compress::Evaluation{"accuracy", 0.5, 400, compress::Comparison{0.75, 0.7, 9}};
  model.causes = LossCauses{"kl", 400, {1}};
  report.data = "samples";
  report.num_samples = 400;
  return content;
}

TEST(Verdict, SaysHowMuchSmallerAndWorse) {
  const std::string html = to_html(compared());
  EXPECT_THAT(html, HasSubstr("<strong>4.0×</strong> smaller"));
  EXPECT_THAT(html, HasSubstr("4000 B → 1000 B"));
  EXPECT_THAT(html, HasSubstr("<div class=\"figure bad\"><p><strong>−25.0</strong>"));
  // sqrt(0.3 / 400) = 0.0274
  EXPECT_THAT(html, HasSubstr("75.0 → 50.0 % of 400 samples, ± 2.7"));
  EXPECT_THAT(html, HasSubstr("<b>4.0 times smaller and 25.0 points of accuracy lost.</b>"));
  const json verdict = json::parse(to_json(compared()))["verdict"];
  EXPECT_EQ(verdict["size"]["ratio"], 4);
  EXPECT_EQ(verdict["accuracy"]["from"], 0.75);
  EXPECT_EQ(verdict["accuracy"]["to"], 0.5);
  EXPECT_TRUE(verdict["speed"]["to"].is_null());
}

TEST(Verdict, ClaimsNoSpeedOfABusyMachine) {
  Content content = compared();
  content.report.model.profile.emplace().median_us = 50;
  content.report.reference->profile.emplace().median_us = 100;
  const std::string claim = "4.0 times smaller, 2.0 times faster and 25.0 points of accuracy lost.";
  EXPECT_EQ(json::parse(to_json(content))["verdict"]["sentences"][0], claim);
  EXPECT_THAT(to_html(content), Not(HasSubstr("busy")));
  content.report.reference->profile->preemptions = 300;
  EXPECT_EQ(json::parse(to_json(content))["verdict"]["sentences"][0],
            "4.0 times smaller and 25.0 points of accuracy lost.");
  EXPECT_THAT(to_html(content), HasSubstr("; the machine was busy: measure again"));
}

TEST(Verdict, NamesTheCausesAndTheCommandThatHelps) {
  const json verdict = json::parse(to_json(compared()))["verdict"];
  EXPECT_EQ(verdict["causes"][0]["layer"], "conv1");
  EXPECT_EQ(verdict["causes"][0]["share"], 0.75);
  EXPECT_EQ(verdict["causes"][0]["extra_bytes"], 30);
  EXPECT_EQ(verdict["sentences"][1], "conv1 causes 75 % of the loss of single layers.");
  // conv1 wins three times as much as conv0 for as many bytes.
  EXPECT_EQ(verdict["sentences"][2],
            "8 bits win most for each byte at conv1 and conv0: 100 % of it for 60 B more:");
  EXPECT_EQ(verdict["command"],
            "halftone quantize 'float net.onnx' -o better.circle --data SAMPLES --weight-bits 2 "
            "--activation-bits 2 --recipe better.toml");
  const compress::Recipe recipe = compress::parse_recipe(verdict["recipe"].get<std::string>(), "r");
  EXPECT_EQ(recipe.for_layer("conv1").weights->bits, 8);
  EXPECT_EQ(recipe.for_layer("conv2").weights->bits, 3);  // as it is by default
}

TEST(Verdict, HelpsLayersThatWinMostForEachByte) {
  Content content = compared();
  NetworkFigures& model = content.report.model;
  model.layers[1].eight_bit_bytes = 510;  // 500 bytes for three times the loss
  json verdict = json::parse(to_json(content))["verdict"];
  EXPECT_EQ(verdict["causes"][0]["layer"], "conv1");
  EXPECT_EQ(verdict["helped"][0]["layer"], "conv0");
  EXPECT_EQ(verdict["helped"][0]["extra_bytes"], 30);
  EXPECT_EQ(verdict["helped"][1]["layer"], "conv1");
  model.layers[0].loss = 0.0006;  // less than 2 % of all
  verdict = json::parse(to_json(content))["verdict"];
  EXPECT_EQ(verdict["helped"].size(), 1U);
  EXPECT_EQ(verdict["helped"][0]["layer"], "conv1");
  model.layers[1].info.weight_bits = model.layers[1].info.activation_bits = 8;
  EXPECT_TRUE(json::parse(to_json(content))["verdict"]["helped"].empty());
}

TEST(Verdict, NamesNoCausesOfNothing) {
  Content content = compared();
  for (LayerFigures& layer : content.report.model.layers) layer.loss = 4e-4;
  const json verdict = json::parse(to_json(content))["verdict"];
  EXPECT_EQ(verdict["sentences"][1], "The losses of single layers add up to less than 0.001.");
  EXPECT_TRUE(verdict["causes"].empty() && verdict["helped"].empty());
  EXPECT_THAT(to_html(content), HasSubstr("<h2 id=layers-h>Layers</h2>"));
}

TEST(Verdict, ShortensLongNames) {
  Content content = compared();
  const std::string name = "model/relu;" + std::string(300, 'x');
  content.report.model.layers[1].reference_name = name;
  const json verdict = json::parse(to_json(content))["verdict"];
  EXPECT_EQ(verdict["causes"][0]["layer"], name);
  EXPECT_EQ(verdict["sentences"][1], "model/relu;… causes 75 % of the loss of single layers.");
}

TEST(Verdict, TakesNoiseWhereNoLossWasEstimated) {
  Content content = compared();
  content.report.model.causes.reset();
  for (LayerFigures& layer : content.report.model.layers) layer.loss.reset();
  content.report.model.layers[0].error->sqnr_alone_db = 10;  // ten times the noise of the other
  const json verdict = json::parse(to_json(content))["verdict"];
  EXPECT_EQ(verdict["share_of"], "noise");
  // A power, a sum and a quotient, each within a unit in the last place or so.
  EXPECT_NEAR(verdict["causes"][0]["share"].get<double>(), 10.0 / 11, 16 * 0x1p-53);
  EXPECT_EQ(verdict["causes"][0]["layer"], "conv0");
}

TEST(Verdict, JudgesOtherFigures) {
  Content content = compared();
  content.report.reference->inspection.file_bytes = 500;
  content.report.model.evaluation->value = 0.748;
  EXPECT_THAT(to_html(content), HasSubstr("<strong>2.0×</strong> larger"));
  EXPECT_THAT(to_html(content), HasSubstr("<div class=\"figure good\"><p><strong>−0.2</strong>"));
  content.report.model.evaluation =
      compress::Evaluation{"agreement", 0.9, 400, compress::Comparison{{}, 0.9, 31, 0.1}};
  EXPECT_THAT(to_html(content), HasSubstr("<strong>90.0 %</strong> same answers"));
  content.report.model.evaluation->reference->divergence.reset();
  EXPECT_THAT(to_html(content), HasSubstr("<strong>31.0 dB</strong> output SQNR"));
}

TEST(Heat, HasTheSameStepsForLossesAndDecibels) {
  EXPECT_EQ(heat_of_loss(0), 0);
  EXPECT_EQ(heat_of_loss(0.002), 1);
  EXPECT_EQ(heat_of_loss(0.5), 5);
  EXPECT_EQ(heat_of_loss(std::numeric_limits<double>::quiet_NaN()), 5);
  LayerFigures layer{{"a", "Conv", "float32[1]"}, ""};
  EXPECT_FALSE(heat_of(layer));
  layer.error = compress::LayerError{99, 27};  // noise of 0.002
  EXPECT_EQ(heat_of(layer), 1);
  layer.loss = 0.5;
  EXPECT_EQ(heat_of(layer), 5);
  EXPECT_EQ(heat_of_share(1), 5);
  EXPECT_EQ(heat_of_share(0), 0);
}

TEST(Page, ColoursLayersByLossInEveryPart) {
  const std::string html = to_html(compared());
  EXPECT_THAT(html, HasSubstr("<tr id=l0 class=c3>"));  // 0.01 to 0.03
  EXPECT_THAT(html, HasSubstr("<a href=\"#l0\" tabindex=-1><title>conv0: 2 bits, 10 B, "));
  EXPECT_THAT(html, HasSubstr("style=--w:33%>0.01</td>"));  // a third of the largest loss
}

TEST(Page, ShowsConfusedClassesByName) {
  Content content = compared();
  content.report.model.confusion = Confusion{3, {5, 1, 0, 0, 6, 0, 2, 0, 4}};
  EXPECT_THAT(to_html(content), HasSubstr("Most often 2 is taken for 0: 2 of 6 samples, 0 by the"));
  EXPECT_THAT(to_html(content), HasSubstr("With --classes, the classes have their names."));
  content.report.classes = {"<cat>", "dog", "bird"};
  const std::string html = to_html(content);
  EXPECT_THAT(html, HasSubstr("Most often bird is taken for &lt;cat&gt;: 2 of 6 samples"));
  EXPECT_THAT(html, HasSubstr("<td class=right style=--a:83%>5</td>"));
  const json facts = json::parse(to_json(content));
  EXPECT_EQ(facts["model"]["confusion"], json({{5, 1, 0}, {0, 6, 0}, {2, 0, 4}}));
  EXPECT_EQ(facts["classes"][1], "dog");
  content.report.model.confusion->num_classes = 41;
  content.report.model.confusion->counts.assign(std::size_t{41} * 41, 1);
  EXPECT_THAT(to_html(content), HasSubstr("The most frequent mistakes"));
}

TEST(Page, PlotsSeveralNetworksAndDimsThoseThatAreDominated) {
  Content content = compared();
  NetworkFigures worse = content.report.model;
  worse.name = "worse.circle";
  worse.inspection.file_bytes = 2000;
  worse.evaluation->value = 0.4;
  content.report.beside = {worse, worse};
  content.report.reference->evaluation = compress::Evaluation{"accuracy", 0.75, 400, {}};
  const std::string html = to_html(content);
  EXPECT_THAT(html, HasSubstr("4 networks side by side"));
  EXPECT_THAT(html, HasSubstr("bits, beside 2"));
  EXPECT_THAT(html, HasSubstr("<g class=\"h2 dim\">"));
  EXPECT_THAT(html, HasSubstr("<g class=\"h1\">"));
  const json facts = json::parse(to_json(content));
  EXPECT_EQ(facts["beside"]["name"], "worse.circle");
  EXPECT_EQ(facts["more_beside"].size(), 1U);
}

TEST(Page, ShowsWorstSamplesByEachMeasure) {
  Content content = content_of("net");
  SampleFigures sample{3, 1.5, 1, 2, {}, SamplePicture{1, 1, 3, {255, 0, 0}}};
  content.report.worst.push_back(sample);
  for (const auto& [measure, words] : {std::pair(SampleMeasure::kDivergence, "KL divergence"),
                                       {SampleMeasure::kSquaredError, "squared error"},
                                       {SampleMeasure::kLoss, "negative logarithm"}}) {
    content.report.measure = measure;
    const std::string html = to_html(content);
    EXPECT_THAT(html, HasSubstr(words));
    EXPECT_THAT(html, HasSubstr("model <span class=wrong>1 (wrong)</span>"));
    EXPECT_EQ(json::parse(to_json(content))["worst"]["measure"], to_string(measure));
  }
}

TEST(Overlays, AreOfTheMeasuresThatLayersHave) {
  Content content = content_of("net");
  const auto names = [&] {
    std::string list;
    for (const OverlayFile& file : overlays(content.report.model)) list += file.measure + " ";
    return list;
  };
  EXPECT_EQ(names(), "bits bytes ");
  content.report.model.layers[0].error = compress::LayerError{10, 12};
  EXPECT_EQ(names(), "bits bytes sqnr sqnr-alone ");
}

TEST(HtmlTable, SortsByValuesThatTheTextRounds) {
  HtmlTable table("numbers", {{"name", false}, {"value"}, {"size"}});
  EXPECT_TRUE(table.empty());
  table.add_row({Cell::of("a<b"), Cell::number(2, 0), Cell::bytes(20480)});
  EXPECT_THAT(table.html(), HasSubstr("<th scope=row>a&lt;b</th><td>2</td>"
                                      "<td data-v=20480>20.0 KiB</td>"));
}

/// The chunks of a PNG file: type and content.
std::vector<std::pair<std::string, std::string>> chunks_of(const std::string& file) {
  std::vector<std::pair<std::string, std::string>> chunks;
  for (std::size_t at = 8; at + 12 <= file.size();) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(file[at + i]);
    chunks.emplace_back(file.substr(at + 4, 4), file.substr(at + 8, size));
    at += 12 + size;
  }
  return chunks;
}

TEST(Png, IsTheFileOfOneRedPixel) {
  const std::string file = png({1, 1, 3, {255, 0, 0}});
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const auto chunks = chunks_of(file);
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].first, "IHDR");
  EXPECT_EQ(chunks[1].first, "IDAT");
  EXPECT_EQ(chunks[2].first, "IEND");
  // Header of zlib, one stored block of four bytes, their Adler-32.
  const std::string expected("\x78\x01\x01\x04\x00\xfb\xff\x00\xff\x00\x00\x03\x01\x01\x00", 15);
  EXPECT_EQ(chunks[1].second.substr(0, 11), expected.substr(0, 11));
  // The checksum of an empty IEND is known.
  EXPECT_EQ(file.substr(file.size() - 4), "\xae\x42\x60\x82");
}

TEST(Png, DividesLargePicturesIntoBlocks) {
  const SamplePicture picture{300, 300, 1, std::vector<std::uint8_t>(90000, 9)};
  const auto chunks = chunks_of(png(picture));
  // 300 lines of 301 bytes in two blocks of five bytes more, two of a header, four of a checksum.
  EXPECT_EQ(chunks[1].second.size(), 300U * 301 + 2 * 5 + 2 + 4);
}

TEST(DataAddress, IsBase64) {
  EXPECT_EQ(data_address("Man"), "data:image/png;base64,TWFu");
  EXPECT_EQ(data_address("Ma"), "data:image/png;base64,TWE=");
  EXPECT_EQ(data_address("M"), "data:image/png;base64,TQ==");
}

SideFile file(const std::string& content) { return {"f.json", content}; }

TEST(SideFiles, HaveTheChosenPointIfThereIsOne) {
  const std::string front = R"({"front": [{"bytes": 1, "loss": 2}, {"bytes": 3, "loss": 1}])";
  EXPECT_FALSE(search_of(file(front + "}")).chosen);
  EXPECT_FALSE(search_of(file(front + R"(, "chosen": null})")).chosen);
  EXPECT_EQ(search_of(file(front + R"(, "chosen": {"bytes": 1, "loss": 2, "pj": 7}})")).chosen->pj,
            7);
  expect_error(ErrorKind::kFormat, "expected what quantize --budget --json prints",
               [&] { search_of(file(front + R"(, "chosen": 2})")); });
}

constexpr const char* kSensitivity =
    R"({"loss": "kl", "layers": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "units": [{"layers": [0, 2]}, {"layers": [1]}],
        "choices": [{"name": "w2", "units": [{"loss": 0.5, "bytes": 8}, {"loss": 0.25, "bytes": 4}]},
                    {"name": "w3", "units": [{"loss": 0.1, "bytes": 9}, {"loss": 0, "bytes": 5}]}]})";

TEST(SideFiles, NameTheLayersOfEachUnit) {
  for (const std::string& content :
       {std::string(kSensitivity), R"({"sensitivity": )" + std::string(kSensitivity) + "}"}) {
    const SensitivityTable table = sensitivity_of(file(content));
    EXPECT_EQ(table.loss, "kl");
    EXPECT_EQ(table.choices, (std::vector<std::string>{"w2", "w3"}));
    ASSERT_EQ(table.units.size(), 2U);
    EXPECT_EQ(table.units[0].name, "a, c");
    EXPECT_EQ(table.units[0].losses, (std::vector<double>{0.5, 0.1}));
    EXPECT_EQ(table.units[1].bytes, (std::vector<double>{4, 5}));
  }
  Content content = content_of("net");
  content.sensitivities.push_back(sensitivity_of(file(kSensitivity)));
  EXPECT_THAT(to_html(content), HasSubstr("<th scope=row>a, c</th><td title=\"8 B\">0.5</td>"));
  EXPECT_EQ(json::parse(to_json(content))["sensitivities"][0]["units"][1]["losses"][0], 0.25);
}

TEST(SideFiles, MustHaveEveryUnitOfASensitivity) {
  const auto without = [&](const std::string& part, const std::string& other) {
    std::string content = kSensitivity;
    content.replace(content.find(part), part.size(), other);
    expect_error(ErrorKind::kFormat, "expected what sensitivity --json prints",
                 [&] { sensitivity_of(file(content)); });
  };
  without("\"units\"", "\"other\"");
  without("[0, 2]", "[0, 3]");
  without("[0, 2]", "[]");
  without("\"loss\": 0.5", "\"loss\": \"x\"");
  without(", {\"loss\": 0.25, \"bytes\": 4}", "");
  without("[{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}]", "[]");
}

TEST(SideFiles, KeepSomeOfManySteps) {
  json run;
  for (int i = 0; i < 1000; ++i) run["steps"].push_back({{"loss", i}, {"seconds", 1}});
  run["evaluations"] = {{{"steps", 10}, {"kl_divergence", 0.5}}};
  const Training training = training_of(file(run.dump()));
  EXPECT_EQ(training.file, "f.json");
  ASSERT_EQ(training.courses.size(), 2U);
  EXPECT_EQ(training.courses[0].rows.size(), 201U);
  EXPECT_EQ(training.courses[0].rows.back().number, 1000U);
  EXPECT_EQ(training.courses[1].rows[0].number, 10U);
  EXPECT_EQ(training.courses[1].columns, (std::vector<std::string>{"kl_divergence"}));
}

TEST(SideFiles, MustBeTheJsonOfTheirVerbs) {
  expect_error(ErrorKind::kFormat, "is no JSON", [] { search_of(file("[")); });
  expect_error(ErrorKind::kFormat, "expected what quantize", [] { search_of(file("[1]")); });
  expect_error(ErrorKind::kFormat, "expected what quantize",
               [] { search_of(file(R"({"front": [{"bytes": "2", "loss": 1}]})")); });
  expect_error(ErrorKind::kFormat, "expected what train", [] { training_of(file("{}")); });
  expect_error(ErrorKind::kIo, "f.json", [] { read_side_file("no such folder/f.json"); });
}

}  // namespace
}  // namespace halftone::report::page
