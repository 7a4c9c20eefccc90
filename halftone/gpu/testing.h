// SPDX-License-Identifier: Apache-2.0
// A device for tests: the first of OpenCL that can be used, or the one that the variable
// HALFTONE_TEST_DEVICE names. Only tests include this.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/gpu/driver.h"
#include "halftone/gpu/launches.h"
#include "halftone/gpu/programs.h"

namespace halftone::gpu {

inline std::string test_device_name() {
  const char* name = std::getenv("HALFTONE_TEST_DEVICE");
  return name == nullptr ? "opencl" : name;
}

/// Why there is no device for tests; empty if there is one.
inline std::string why_no_device() {
  if (std::getenv("HALFTONE_TEST_DEVICE") != nullptr) return "";  // opening it says so
  const DeviceList list = list_devices(Api::kOpenCl);
  for (const DeviceInfo& info : list.devices) {
    if (info.problem.empty()) return "";
  }
  return list.devices.empty() ? list.missing : list.devices[0].problem;
}

/// Tests on a device; they are skipped where there is none.
class OnDevice : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!why_no_device().empty()) return;
    device = open_device(test_device_name());
    programs = std::make_unique<Programs>(*device);
  }
  static void TearDownTestSuite() {
    programs.reset();
    device.reset();
  }
  void SetUp() override {
    if (device == nullptr) GTEST_SKIP() << "no device: " << why_no_device();
  }

  template <typename T>
  static std::unique_ptr<Buffer> on_device(const std::vector<T>& elements) {
    return upload(*device, std::span<const T>(elements));
  }
  /// Floats that hold NaN, to be written by a kernel.
  static std::unique_ptr<Buffer> unset(std::size_t count) {
    return on_device(std::vector<std::uint32_t>(count, 0xFFFFFFFF));
  }

  inline static std::unique_ptr<GpuDevice> device{};
  inline static std::unique_ptr<Programs> programs{};
};

/// Number of floats that differ in a bit.
inline std::size_t differing_bits(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) ++differing;
  }
  return differing;
}

}  // namespace halftone::gpu
