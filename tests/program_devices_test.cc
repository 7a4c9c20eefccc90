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

/// A program whose device is lost at a call.
class LostDevice : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    const std::string generate = "generate " + model() + " -p ab -n 1 --device opencl:0";
    const Outcome there = run(generate, kLayer);
    if (there.code != 0) GTEST_SKIP() << there.err;
    if (run(generate, fail_at(1)).code == 0) GTEST_SKIP() << "OpenCL's loader has no layers";
  }
  std::string model() const { return tiny_.path() + " --tokenizer " + tiny_.tokenizer(); }
  std::string text() const {
    const std::string file = path("text.txt");
    std::ofstream(file) << std::string(600, 'a') << "bcdefgh";
    return file;
  }
  static std::string fail_at(int call) {
    return kLayer + " HALFTONE_FAIL_AT=" + std::to_string(call);
  }

  inline static const std::string kLayer =
      "OPENCL_LAYERS='" HALFTONE_FAILING_OPENCL "' OMP_WAIT_POLICY=passive";
  const TinyLanguageModel tiny_{path("tiny.bin")};
};

TEST_F(LostDevice, IsOneLineAndExitCode5) {
  const std::string generate = "generate " + model() + " -p ab -n 8 --json --device opencl:0";
  EXPECT_EQ(run(generate, kLayer).code, 0);
  for (const int call : {1, 5, 40, 130}) {
    const Outcome lost = run(generate, fail_at(call));
    EXPECT_EQ(lost.code, 5) << call << lost.err;
    EXPECT_EQ(lost.out, "") << call;
    EXPECT_THAT(lost.err, HasSubstr("opencl:0: ")) << call;
    EXPECT_THAT(lost.err, HasSubstr("the device was lost (-36)")) << call;
    EXPECT_EQ(std::ranges::count(lost.err, '\n'), 1) << lost.err;
  }
}

TEST_F(LostDevice, LeavesStatesFromWhichItGoesOn) {
  const std::string eval = "eval " + model() + " --text " + text() + " --context 32 --json";
  const json want = json::parse(run(eval).out);
  const std::string state = path("state");
  const std::string with_state = eval + " --device opencl:0 --state " + state;
  for (const int call : {300, 200}) {
    const Outcome lost = run(with_state, fail_at(call));
    EXPECT_EQ(lost.code, 5) << lost.err;
    EXPECT_EQ(lost.out, "");
  }
  const Outcome done = run(with_state, kLayer);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(json::parse(done.out).at("loss"), want.at("loss"));
  EXPECT_EQ(json::parse(done.out).at("value"), want.at("value"));
}

}  // namespace
}  // namespace halftone
