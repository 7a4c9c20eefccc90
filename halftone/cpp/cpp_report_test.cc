// SPDX-License-Identifier: Apache-2.0
// The C++ API: the page about a network.
#include <optional>
#include <string>

#include "halftone/cpp/testing.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using outside::kFolder;
using outside::kModel;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFront =
    R"({"front": [{"bytes": 10, "loss": 0.5}, {"bytes": 20, "loss": 0.1}]})";
constexpr const char* kSensitivity =
    R"({"loss": "kl", "layers": [{"name": "a"}], "units": [{"layers": [0]}],
        "choices": [{"name": "2", "units": [{"loss": 0.5, "bytes": 8}]}]})";
constexpr const char* kTraining = R"({"epochs": [{"loss": 2}, {"loss": 1}]})";

class CppReport : public testing::Test {
 protected:
  const Model float_ = load(kModel);
  const Data samples_ = Data::open(kFolder, {.split = "test", .limit = 100});

  /// In memory only.
  [[nodiscard]] Model in_two_bits() const {
    Recipe recipe;
    recipe.defaults.weight_bits = 2;
    recipe.defaults.activation_bits = 2;
    return quantize(float_, Data::open(kFolder, {.limit = 50}), recipe).model;
  }
};

TEST_F(CppReport, ShowsTheFileAlone) {
  const Report found = report(float_);
  EXPECT_THAT(found.html, HasSubstr("<h1>mnist_mlp_700.onnx</h1>"));
  EXPECT_THAT(found.html, HasSubstr("dense2"));
  EXPECT_THAT(found.html, Not(HasSubstr("samples-h")));
  EXPECT_THAT(found.json, HasSubstr(R"("format": "onnx")"));
  ASSERT_EQ(found.node_data.size(), 2U);
  EXPECT_EQ(found.node_data[0].measure, "bits");
  EXPECT_THAT(found.node_data[0].json, HasSubstr("dense2"));
}

TEST_F(CppReport, ShowsWhatWasLost) {
  ReportOptions options;
  const Model quantized = in_two_bits();
  options.reference = float_;
  options.beside = {float_, quantized};
  options.classes = {"nought", "one"};
  options.data = samples_;
  options.worst = 3;
  double last = 0;
  options.progress = [&](double fraction, std::string_view activity) {
    EXPECT_FALSE(activity.empty());
    last = fraction;
    return true;
  };
  const Report found = report(quantized, options);
  EXPECT_EQ(last, 1);
  const Evaluation same = evaluate(quantized, samples_, {.reference = float_});
  EXPECT_THAT(found.json, HasSubstr("\"value\": " + std::to_string(same.value).substr(0, 4)));
  const std::string size = std::to_string(quantized.to_bytes("circle").size());
  EXPECT_THAT(found.json, HasSubstr("\"bytes\": " + size));
  EXPECT_THAT(found.html, HasSubstr("samples-h"));
  EXPECT_THAT(found.html, HasSubstr("4 networks side by side"));
  EXPECT_THAT(found.html, HasSubstr("<th scope=col>nought</th>"));
  options.progress = {};
  options.resources.threads = 1;
  EXPECT_EQ(report(quantized, options).html, found.html);
}

TEST_F(CppReport, MeasuresTimes) {
  ReportOptions options;
  options.measure_time = true;
  options.samples_per_run = 2;
  const Report found = report(float_, options);
  ASSERT_EQ(found.node_data.size(), 3U);
  EXPECT_EQ(found.node_data[2].measure, "us");
}

TEST_F(CppReport, ShowsPrintedResults) {
  ReportOptions options;
  options.sensitivities = {{"which layer", kSensitivity}};
  options.searches = {{"bits", kFront}};
  options.trainings = {{"a run", kTraining}};
  const std::string html = report(float_, options).html;
  for (const char* part :
       {"sensitivities-h", "searches-h", "trainings-h", "which layer", "a run"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST_F(CppReport, RefusesOtherThings) {
  ReportOptions options;
  options.searches = {{"bits", "{}"}};
  expect_error(ErrorKind::kFormat, "bits: expected what quantize --budget --json prints",
               [&] { report(float_, options); });
  options.searches = {};
  options.progress = [](double, std::string_view) { return false; };
  options.data = samples_;
  expect_error(ErrorKind::kInterrupted, "interrupted", [&] { report(float_, options); });
}

}  // namespace
