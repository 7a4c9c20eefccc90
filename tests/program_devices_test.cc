// SPDX-License-Identifier: Apache-2.0
// What the program says about the devices of a machine.
#include <nlohmann/json.hpp>

#include "tests/program.h"

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

}  // namespace
}  // namespace halftone
