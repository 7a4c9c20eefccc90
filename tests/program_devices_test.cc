// SPDX-License-Identifier: Apache-2.0
// What the program says about the devices of a machine.
#include <nlohmann/json.hpp>

#include "tests/program.h"
#include "tests/tiny_language_model.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST_F(Program, ListsDevicesAndWhatIsMissing) {
  const Outcome table = run("devices");
  EXPECT_EQ(table.code, 0) << table.err;
  const json devices = json::parse(run("devices --json").out)["devices"];
  ASSERT_GE(devices.size(), 3U);
  EXPECT_EQ(devices[0]["id"], "cpu");
  EXPECT_EQ(devices[0]["problem"], nullptr);
  bool has_opencl = false;
  bool has_cuda = false;
  for (const json& each : devices) {
    const std::string id = each["id"];
    EXPECT_THAT(table.out, HasSubstr(id));
    has_opencl = has_opencl || id.starts_with("opencl");
    has_cuda = has_cuda || id.starts_with("cuda");
    // An interface without devices says what to install.
    if (id == "opencl" || id == "cuda") {
      EXPECT_THAT(std::string(each["problem"]), HasSubstr(id == "cuda" ? "NVIDIA" : "OpenCL"));
    }
  }
  EXPECT_TRUE(has_opencl && has_cuda);
}

TEST_F(Program, ChoosesTheBestDeviceAndSaysWhich) {
  const TinyLanguageModel tiny{path("tiny.bin")};
  const std::string arguments = "generate " + tiny.path() + " --tokenizer " + tiny.tokenizer() +
                                " -p ab -n 4 --json --device ";
  const Outcome cpu = run(arguments + "cpu");
  if (cpu.code == 4) GTEST_SKIP() << cpu.err;
  const Outcome best = run(arguments + "auto");
  EXPECT_EQ(best.code, 0) << best.err;
  EXPECT_THAT(best.err, testing::StartsWith("device: "));
  EXPECT_EQ(json::parse(best.out)["tokens"], json::parse(cpu.out)["tokens"]);
  EXPECT_EQ(run(arguments + "auto -q").err, "");
}

}  // namespace
}  // namespace halftone
