// SPDX-License-Identifier: Apache-2.0
// Published networks reproduce their outputs and accuracies in every format that is available. They
// need the data for development (HALFTONE_DATA).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/data/npy.h"
#include "halftone/data/open_dataset.h"
#include "halftone/formats/model.h"
#include "halftone/passes/decode_codes.h"
#include "halftone/passes/simplify.h"
#include "halftone/runtime/execute/session.h"

namespace halftone {
namespace {

std::filesystem::path data_folder() {
  const char* set = std::getenv("HALFTONE_DATA");
  return set != nullptr ? set : std::filesystem::path(HALFTONE_SOURCE_DIR) / "../shared/data";
}

ir::Graph load(const std::string& name) {
  ir::Graph graph = formats::load_model(data_folder() / "models" / name);
  passes::give_float_ends(graph);
  passes::simplify_to_run(graph);
  return graph;
}

/// A file among the expected inputs and outputs, in the shape of a value.
ir::Tensor expected(const std::string& name, const ir::Shape& shape) {
  const auto array = data::read_npy(data_folder() / "expected" / name);
  return ir::Tensor::from<float>(shape, array.floats());
}

class PublishedNetwork : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_folder() / "models")) {
      GTEST_SKIP() << "no models in " << data_folder() << "; set HALFTONE_DATA";
    }
  }
};

struct Accuracy {
  const char* model;
  const char* data;  ///< below the folder; two for x and y
  const char* labels;
  double scale;
  std::size_t limit;
  double wanted;
  double tolerance;
};

class PublishedAccuracy : public PublishedNetwork, public testing::WithParamInterface<Accuracy> {};

TEST_P(PublishedAccuracy, IsReproduced) {
  const Accuracy& wanted = GetParam();
  std::string data = (data_folder() / wanted.data).string();
  if (*wanted.labels != 0) data += "," + (data_folder() / wanted.labels).string();
  data::DatasetOptions options{.split = "test", .limit = {}, .scale = wanted.scale};
  if (wanted.limit != 0) options.limit = wanted.limit;
  const auto found = compress::evaluate(load(wanted.model), data::open_dataset(data, options));
  RecordProperty("accuracy", std::to_string(found.value));
  EXPECT_NEAR(found.value, wanted.wanted, wanted.tolerance);
}

constexpr const char* kCifar = "cifar10/lossless_test_761.bin";
// Integer files must reach the accuracy of their float versions.
INSTANTIATE_TEST_SUITE_P(
    Models, PublishedAccuracy,
    testing::Values(Accuracy{"mnist_lstm.tflite", "mnist", "", 1.0 / 255, 1000, 0.978, 0.001},
                    Accuracy{"resnet8_cifar10.tflite", kCifar, "", 1, 0, 0.884, 0.001},
                    Accuracy{"resnet8_cifar10_int8.tflite", kCifar, "", 1, 0, 0.884, 0.005},
                    Accuracy{"kws_dscnn.tflite", "kws/x.npy", "kws/y.npy", 1, 0, 0.9, 0.01},
                    Accuracy{"kws_dscnn_int8.tflite", "kws/x.npy", "kws/y.npy", 1, 0, 0.9, 0.01}),
    [](const auto& instance) {
      return std::filesystem::path(instance.param.model).stem().string();
    });

using Int8Network = PublishedNetwork;

/// Incremental FNV-1a hash.
class Hash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3U;
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// Hashes of operator outputs from LiteRT's reference kernels (ai-edge-litert 2.3.0, Interpreter
/// with OpResolverType.BUILTIN_REF and experimental_preserve_all_tensors), for the
/// first 20 images, one image after the other. Convolutions that an ADD overwrites are missing.
constexpr std::pair<const char*, std::uint64_t> kResnet8Codes[] = {
    {"CONV_2D", 0xf449540fd91ad572U},
    {"CONV_2D", 0xc5738cfe1de694ccU},
    {"ADD", 0x388c6cc702b5bd14U},
    {"CONV_2D", 0x8bac0d55385ff825U},
    {"CONV_2D", 0x1f4e727fc21819c6U},
    {"ADD", 0x3f2baae8d4fa72cbU},
    {"CONV_2D", 0x4426782e807a6ea7U},
    {"CONV_2D", 0x623f5d7d2e291600U},
    {"ADD", 0xe4e6149114cd89a2U},
    {"AVERAGE_POOL_2D", 0x94e7580c728e2a7fU},
    {"FULLY_CONNECTED", 0x22272f1c8c3a3751U},
    {"SOFTMAX", 0x5211ef1e8fe45d25U},
};

TEST_F(Int8Network, GivesTheCodesOfTensorFlowLite) {
  ir::Graph graph = formats::load_model(data_folder() / "models/resnet8_cifar10_int8.tflite");
  passes::simplify_to_run(graph);
  runtime::Session session(runtime::make_plan(graph, {}));
  std::map<std::size_t, Hash> hashes;  // by step
  session.add_observer([&](const runtime::StepEvent& event) {
    if (ir::are_codes(event.output.type)) hashes[event.step].add(event.output.bytes);
  });
  constexpr std::size_t kPixels = std::size_t{32} * 32;
  const std::vector<std::byte> records = read_file(data_folder() / kCifar);
  for (std::size_t image = 0; image < 20; ++image) {
    const std::byte* planes = &records[image * (1 + 3 * kPixels) + 1];  // behind the label
    const auto codes = session.input_as<std::int8_t>(0);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const auto level = static_cast<int>(planes[i % 3 * kPixels + i / 3]);
      codes[i] = static_cast<std::int8_t>(level - 128);
    }
    session.run();
  }
  std::vector<std::uint64_t> found;
  for (const auto& [step, hash] : hashes) found.push_back(hash.value());
  for (const auto& [op, wanted] : kResnet8Codes) {
    EXPECT_THAT(found, testing::Contains(wanted)) << op;
  }
}

using Denoiser = PublishedNetwork;

TEST_F(Denoiser, GivesTheExpectedOutputsFromBothFormats) {
  for (const std::string name : {"dtln_1", "dtln_2"}) {
    for (const std::string extension : {".tflite", ".onnx"}) {
      SCOPED_TRACE(name + extension);
      runtime::Session session(runtime::make_plan(load(name + extension), {}));
      const ir::Graph& graph = session.plan().graph();
      std::vector<ir::Tensor> inputs;
      for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        inputs.push_back(expected(name + ".in" + std::to_string(i) + ".npy",
                                  graph.value(graph.inputs()[i]).type.shape));
      }
      const auto outputs = session.run(inputs);
      ASSERT_EQ(outputs.size(), 2U);
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const ir::Tensor wanted =
            expected(name + ".out" + std::to_string(o) + ".npy", outputs[o].shape());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          ASSERT_NEAR(outputs[o].as<float>()[i], wanted.as<float>()[i], 1e-4) << o << ", " << i;
        }
      }
    }
  }
}

class TfliteNetwork : public PublishedNetwork, public testing::WithParamInterface<const char*> {};

TEST_P(TfliteNetwork, IsReadAndRuns) {
  runtime::Session session(runtime::make_plan(load(std::string(GetParam()) + ".tflite"), {}));
  session.run();
  for (const runtime::PlanStep& step : session.plan().steps()) {
    const bool has_weights =
        step.op == "FullyConnected" || step.op == "Conv" || step.op == "Recurrent";
    if (has_weights) {
      EXPECT_NE(step.kernel, "reference") << step.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TfliteNetwork,
                         testing::Values("dtln_1", "dtln_2", "kws_dscnn", "kws_dscnn_int8",
                                         "mnist_lstm", "resnet8_cifar10", "resnet8_cifar10_int8",
                                         "toycar_autoencoder", "toycar_autoencoder_int8",
                                         "vww_mobilenet", "vww_mobilenet_int8"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace halftone
