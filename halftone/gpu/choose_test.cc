// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halftone::gpu {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;

DeviceInfo card(Api api, int index, std::uint64_t gigabytes) {
  DeviceInfo info;
  info.api = api;
  info.index = index;
  info.name = "Card";
  info.memory_bytes = gigabytes * kGigabyte;
  return info;
}

std::string chosen(const std::vector<DeviceList>& lists) { return choose_device(lists).id; }

TEST(ChosenDevice, IsTheCardWithTheMostMemory) {
  const DeviceList cuda{{card(Api::kCuda, 0, 8), card(Api::kCuda, 1, 80), card(Api::kCuda, 2, 80)},
                        ""};
  EXPECT_EQ(chosen({cuda}), "cuda:1");
  EXPECT_EQ(choose_device(std::vector{cuda}).reason, "Card, the card with the most memory");
}

TEST(ChosenDevice, PrefersCudaToOpenCl) {
  const DeviceList cuda{{card(Api::kCuda, 0, 8)}, ""};
  const DeviceList opencl{{card(Api::kOpenCl, 0, 80)}, ""};
  EXPECT_EQ(chosen({cuda, opencl}), "cuda:0");
  EXPECT_EQ(chosen({opencl, cuda}), "cuda:0");
  EXPECT_EQ(chosen({DeviceList{{}, "no driver"}, opencl}), "opencl:0");
}

TEST(ChosenDevice, IsTheProcessorWhereNoCardCanBeUsed) {
  DeviceList opencl{{card(Api::kOpenCl, 0, 80), card(Api::kOpenCl, 1, 8)}, ""};
  opencl.devices[0].is_processor = true;
  opencl.devices[1].problem = "its floats have no denormal numbers";
  const ChosenDevice found = choose_device(std::vector{DeviceList{{}, "no driver"}, opencl});
  EXPECT_EQ(found.id, "cpu");
  EXPECT_THAT(found.reason, HasSubstr("no driver; opencl:0: OpenCL on the processor"));
  EXPECT_THAT(found.reason, HasSubstr("opencl:1: its floats have no denormal numbers"));
}

TEST(ChosenDevice, IsTheSameEachTime) { EXPECT_EQ(choose_device().id, choose_device().id); }

}  // namespace
}  // namespace halftone::gpu
