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
      for (const json& layer : json::parse(bench.out)["layers"]) {
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

}  // namespace
}  // namespace halftone
