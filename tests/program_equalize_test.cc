// SPDX-License-Identifier: Apache-2.0
// Cross-layer equalization, as users choose it.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/data/npy.h"
#include "halftone/formats/model.h"
#include "halftone/ir/test_data.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;

/// Two layers of 8 channels, whose ranges in the first lie between 2^-6 and 2^6.
void save_unequal_network(const std::string& path) {
  Random random(5);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 8}));
  ir::Tensor first = ir::test::random_tensor({8, 8}, random);
  ir::Tensor second = ir::test::random_tensor({4, 8}, random);
  const auto scale_of = [](std::size_t channel) {
    return std::exp2(6 * std::cos(static_cast<float>(channel)));
  };
  for (std::size_t i = 0; i < first.size(); ++i) first.as<float>()[i] *= scale_of(i / 8);
  for (std::size_t i = 0; i < second.size(); ++i) second.as<float>()[i] /= scale_of(i % 8);
  const ir::FullyConnected relu{ir::Activation{ir::ActivationKind::kRelu}};
  const auto h = graph.add_node("first", relu, {x, graph.add_constant("w", std::move(first))});
  graph.add_output(graph.add_node("second", ir::FullyConnected{},
                                  {h, graph.add_constant("v", std::move(second))}));
  formats::save_model(graph, path);
}

/// A network that loses much with one scale for each tensor, its data, and a recipe.
class UnequalProgram : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    save_unequal_network(path("float.onnx"));
    Random random(6);
    const ir::Tensor samples = ir::test::random_tensor({256, 8}, random);
    data::write_npy(path("x.npy"), data::make_npy(samples.as<float>(), {256, 8}));
  }
  /// Runs `quantize` or `distill`. @return its JSON
  json write_codes(const std::string& verb, const std::string& fit) const {
    std::ofstream(path("r.toml")) << "[default]\ngranularity = \"tensor\"\n[fit]\n" << fit;
    const Outcome outcome =
        run(verb + " -o " + path("m.onnx") + " --data " + path("x.npy") + " --recipe " +
            path("r.toml") + " --weight-bits 6 --activation-bits 8 --scheme symmetric --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
  /// The output SQNR of the network in codes.
  [[nodiscard]] double sqnr_db() const {
    const Outcome outcome = run("eval " + path("m.onnx") + " --data " + path("x.npy") +
                                " --reference " + path("float.onnx") + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)["reference"]["sqnr_db"].get<double>();
  }
};

TEST_F(UnequalProgram, LosesLessWhenARecipeEqualizesLayers) {
  const std::string quantize = "quantize " + path("float.onnx");
  EXPECT_EQ(write_codes(quantize, "equalize = false")["equalized_pairs"], 0);
  const double plain = sqnr_db();
  EXPECT_EQ(write_codes(quantize, "equalize = true")["equalized_pairs"], 1);
  EXPECT_GT(sqnr_db(), plain + 10);
}

#ifdef HALFTONE_TRAINS
TEST_F(UnequalProgram, DistillsTheEqualizedNetwork) {
  const std::string distill = "distill --teacher " + path("float.onnx") + " --epochs 1";
  write_codes(distill, "equalize = false");
  const double plain = sqnr_db();
  write_codes(distill + " --stages 7:1", "equalize = true");
  EXPECT_GT(sqnr_db(), plain + 10);
  expect_failure(distill + " -o " + path("m.onnx") + " --data " + path("x.npy") + " --recipe " +
                     path("r.toml") + " --feature first=first",
                 2, "equalize: it changes the scales of the values that features compare");
}
#endif

TEST_F(Program, EqualizesNothingInANetworkWithoutAPair) {
  std::ofstream(path("r.toml")) << "[fit]\nequalize = true\n";
  const std::string quantize = "quantize " + kModel + " -o " + path("m.circle") + " --data " +
                               kExample + " --limit 50 --recipe " + path("r.toml");
  for (const char* more : {"", " --full-integer"}) {
    const Outcome outcome = run(quantize + " --json" + more);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["equalized_pairs"], 0) << "Tanh is between the layers";
  }
  std::ofstream(path("r.toml")) << "[fit]\nequalize = 1\n";
  expect_failure(quantize, 2, "line 2: 'equalize': expected ");
}

}  // namespace
}  // namespace halftone
