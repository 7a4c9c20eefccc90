// SPDX-License-Identifier: Apache-2.0
// The arithmetic of layers, from the option to the file and to the kernel.
#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST_F(Program, StoresTheArithmeticThatAnOptionNames) {
  for (const char* name : {"m.circle", "m.onnx"}) {
    const std::string file = path(name);
    for (const std::string arithmetic : {"auto", "bits", "integers", "float"}) {
      const Outcome quantize =
          run("quantize " + kModel + " -o " + file + " --data " + kExample +
              " --limit 50 --weight-bits 2 --activation-bits 2 --arithmetic " + arithmetic);
      ASSERT_EQ(quantize.code, 0) << quantize.err;
      const std::string expected = arithmetic == "auto" ? "bits" : arithmetic;
      const Outcome inspect = run("inspect " + file + " --json");
      EXPECT_EQ(json::parse(inspect.out)["layers"][0]["arithmetic"], expected);
      const Outcome bench = run("bench " + file + " --seconds 0.001 --json");
      const json times = json::parse(bench.out);
      for (const json& layer : times["layers"]) {
        if (layer["operator"] != "FullyConnected") continue;
        EXPECT_THAT(layer["arithmetic"].get<std::string>(), ::testing::StartsWith(expected + ": "));
      }
    }
  }
  EXPECT_THAT(run("inspect " + path("m.onnx")).out, HasSubstr("arithmetic=float"));
  expect_failure("quantize " + kModel + " -o " + path("n.onnx") + " --data " + kExample +
                     " --activation-bits none --arithmetic bits",
                 2,
                 "arithmetic bits: the input is not encoded; give this layer another arithmetic");
}

TEST_F(Program, GivesTheFirstAndLastLayersBitsOfTheirOwn) {
  const std::string quantize = "quantize " + kModel + " -o " + path("m.circle") + " --data " +
                               kExample + " --limit 50 --weight-bits 2 --activation-bits 2 --json";
  const auto bits = [&](const std::string& options) {
    const Outcome outcome = run(quantize + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::vector<int> found;
    const json report = json::parse(outcome.out);
    for (const json& layer : report["layers"]) {
      found.push_back(layer["weight_bits"]);
      found.push_back(layer["activation_bits"]);
    }
    return found;
  };
  // Both layers are ends.
  EXPECT_EQ(bits(" --ends 8"), std::vector<int>({8, 8, 8, 8}));
  std::ofstream(path("r.toml")) << "[ends]\nweight_bits = 4\n[[layer]]\nname = \"dense2\"\n"
                                   "weight_bits = 5\n";
  EXPECT_EQ(bits(" --recipe " + path("r.toml")), std::vector<int>({4, 2, 5, 2}));
  expect_failure(quantize + " --ends 9", 2, "--ends: Value 9 not in range 1 to 8");
}

}  // namespace
}  // namespace halftone
