// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/programs.h"

#include <gtest/gtest.h>

#include "halftone/base/file.h"
#include "halftone/base/paths.h"
#include "halftone/base/testing.h"
#include "halftone/gpu/norms.h"
#include "halftone/gpu/testing.h"

namespace halftone::gpu {
namespace {

class ProgramsOnDevice : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    if (!why_no_device().empty()) GTEST_SKIP() << "no device: " << why_no_device();
    device = open_device(test_device_name());
  }
  std::unique_ptr<GpuDevice> device;
};

std::string text() { return "// of a test\n" + norm_text(false); }

TEST_F(ProgramsOnDevice, CompileATextOnce) {
  Programs first(*device, folder_);
  const Kernel& kernel = first.kernel(text(), "normalize_rows");
  EXPECT_EQ(&first.kernel(text(), "normalize_rows"), &kernel);
  EXPECT_EQ(first.num_compiled(), 1U);
  Programs second(*device, folder_);
  second.kernel(text(), "normalize_rows");
  EXPECT_EQ(second.num_compiled(), 0U);
  second.kernel("// of another test\n" + norm_text(false), "normalize_rows");
  EXPECT_EQ(second.num_compiled(), 1U);
}

TEST_F(ProgramsOnDevice, IgnoreDamagedFiles) {
  Programs(*device, folder_).kernel(text(), "normalize_rows");
  const auto files = files_in(folder_);
  ASSERT_EQ(files.size(), 1U);
  std::vector<std::byte> bytes = read_file(files[0]);
  bytes[bytes.size() / 2] ^= std::byte{1};
  write_file(files[0], bytes);
  Programs programs_again(*device, folder_);
  programs_again.kernel(text(), "normalize_rows");
  EXPECT_EQ(programs_again.num_compiled(), 1U);
}

TEST_F(ProgramsOnDevice, DoWithoutACache) {
  for (const char* folder : {"", "/proc/no/such/folder"}) {
    Programs alone(*device, folder);
    alone.kernel(text(), "normalize_rows");
    EXPECT_EQ(alone.num_compiled(), 1U);
  }
}

}  // namespace
}  // namespace halftone::gpu
