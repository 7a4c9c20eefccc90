// SPDX-License-Identifier: Apache-2.0
// Networks on a graphics card, as users run them: the same outputs as on the processor. Tests are
// skipped where `halftone devices` finds no card.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "halftone/base/file.h"
#include "halftone/base/random.h"
#include "halftone/data/npy.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ProgramOnDevice : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    if (HasFatalFailure()) return;
    const json found = json::parse(run("devices --json").out);
    for (const json& each : found["devices"]) {
      const std::string id = each["id"];
      if (id != "cpu" && each["problem"].is_null() && device_.empty()) device_ = id;
    }
    if (device_.empty()) GTEST_SKIP() << "no graphics card or driver of OpenCL";
  }

  /// Writes random inputs. @return  the file
  template <typename Number = float>
  [[nodiscard]] std::string inputs(const std::vector<std::size_t>& shape, double scale = 1) const {
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    Random random(8);
    std::vector<Number> x;
    while (x.size() < count) x.push_back(static_cast<Number>(scale * (2 * random.uniform() - 1)));
    data::write_npy(path("x.npy"), data::make_npy(std::span<const Number>(x), shape));
    return path("x.npy");
  }

  /// Runs a network on the processor and on the device, and expects files of the same bytes.
  void expect_same_outputs(const std::string& model, const std::string& x) const {
    for (const std::string& where : {std::string("cpu"), device_}) {
      const Outcome outcome = run("run " + model + " --float-order fixed --input " + x + " -o " +
                                  path(where) + " --device " + where);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
    }
    EXPECT_EQ(read_file(path("cpu/out0.npy")), read_file(path(device_ + "/out0.npy"))) << model;
  }

  /// Expects no step of a network on the processor; a Reshape is nowhere.
  void expect_all_there(const std::string& model) const {
    const Outcome bench =
        run("bench " + model + " --float-order fixed --seconds 0 --json --device " + device_);
    const json found = json::parse(bench.out);
    for (const json& step : found["layers"]) {
      EXPECT_TRUE(step["on_processor"].is_null()) << step;
      if (step["operator"] != "Reshape") {
        EXPECT_EQ(step["device"], device_);
      }
    }
  }

  std::string device_;
};

TEST_F(ProgramOnDevice, RunsTheExampleInAnyNumberOfBits) {
  expect_same_outputs(kModel, inputs({7, 784}));
  for (const std::string bits : {"1", "2", "3", "8"}) {
    const std::string file = path(bits + ".circle");
    const Outcome outcome =
        run("quantize " + kModel + " -o " + file + " --data " + kExample +
            " --limit 100 --weight-bits " + bits + " --activation-bits " + bits);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    expect_same_outputs(file, inputs({7, 784}));
    expect_all_there(file);
    const auto measured = [&](const std::string& where) {
      const std::string options = " --limit 300 --json --device " + where;
      return run("eval " + file + " --data " + kExample + options).out;
    };
    EXPECT_EQ(measured(device_), measured("cpu"));
  }
}

TEST_F(ProgramOnDevice, IsDescribedByMeasuring) {
  const std::string file = path("card.toml");
  const Outcome done = run("estimate --measure --device " + device_ + " -o " + file);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("median error"));
  const std::string bench =
      "bench " + kModel + " --seconds 0 --float-order fixed --device " + device_;
  const json found = json::parse(run(bench + " --accelerator " + file + " --json").out);
  for (const json& step : found["layers"]) EXPECT_GT(step["predicted_us"], 0) << step;
  EXPECT_TRUE(json::parse(run(bench + " --json").out)["predicted_us"].is_null());
}

TEST_F(ProgramOnDevice, SaysWhereEachLayerRuns) {
  const Outcome text = run("bench " + kModel + " --seconds 0 --float-order fixed --explain " +
                           "--device " + device_);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("on " + device_ + "; 3136 B copied to " + device_ + " first"));
  EXPECT_THAT(text.out, HasSubstr(device_ + ": "));
  const Outcome processor = run("bench " + kModel + " --seconds 0 --explain");
  EXPECT_THAT(processor.out, Not(HasSubstr("copied")));
}

TEST_F(ProgramOnDevice, RunsPublishedNetworks) {
  const char* set = std::getenv("HALFTONE_DATA");
  const std::filesystem::path data = set == nullptr ? HALFTONE_SOURCE_DIR "/../shared/data" : set;
  if (!std::filesystem::exists(data / "models")) GTEST_SKIP() << "no models in " << data;
  const std::string models = (data / "models").string() + "/";
  const auto codes = [&](const std::vector<std::size_t>& shape) {
    return inputs<std::int8_t>(shape, 127);
  };
  expect_same_outputs(models + "vww_mobilenet_int8.tflite", codes({1, 96, 96, 3}));
  expect_all_there(models + "vww_mobilenet_int8.tflite");
  expect_same_outputs(models + "resnet8_cifar10_int8.tflite", codes({2, 32, 32, 3}));
  expect_same_outputs(models + "kws_dscnn_int8.tflite", codes({3, 49, 10, 1}));
  expect_same_outputs(models + "resnet20_cifar10.onnx", inputs({1, 3, 32, 32}));
}

TEST_F(ProgramOnDevice, RunsResidualNetworksInAFewBits) {
  const char* set = std::getenv("HALFTONE_DATA");
  const std::filesystem::path data = set == nullptr ? HALFTONE_SOURCE_DIR "/../shared/data" : set;
  if (!std::filesystem::exists(data / "models")) GTEST_SKIP() << "no models in " << data;
  const std::string model = (data / "models/resnet20_cifar10.onnx").string();
  const std::string x = inputs({16, 3, 32, 32});
  for (const char* bits :
       {"--weight-bits 2 --activation-bits 2", "--weight-bits 3 --activation-bits 3",
        "--weight-bits 2 --activation-bits 4", "--weight-bits 8 --activation-bits 8"}) {
    const std::string file = path("r.circle");
    const Outcome outcome = run("quantize " + model + " -o " + file + " --data " + x + " " + bits);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    expect_same_outputs(file, inputs({2, 3, 32, 32}));
    expect_all_there(file);
  }
}

TEST_F(Program, SaysInOneLineThatADeviceIsMissing) {
  for (const std::string& verb : {"bench " + kModel, "eval " + kModel + " --data " + kExample}) {
    const Outcome outcome = run(verb + " --device opencl:99");
    EXPECT_EQ(outcome.code, 5);
    EXPECT_THAT(outcome.err, HasSubstr("opencl"));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace halftone
