// SPDX-License-Identifier: Apache-2.0
// CUDA's driver interface as it is used, on the driver of fake_cuda.h.
#include "halftone/gpu/cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/gpu/cuda_api.h"
#include "halftone/gpu/fake_cuda.h"
#include "halftone/gpu/launches.h"

namespace halftone::gpu {
namespace {

using testing::ElementsAre;

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    list_ = list_cuda_devices();
    ASSERT_EQ(list_.devices.size(), 1U);
    device_ = open_cuda_device(list_.devices[0]);
    program_ = device_->load(std::vector<std::byte>(4));
    two_ = program_->kernel("append_2");
    four_ = program_->kernel("append_4");
    numbers_ = upload(*device_, std::span<const std::uint32_t>(std::vector<std::uint32_t>(20)));
    fake_cuda::calls().clear();
  }
  void TearDown() override {
    numbers_.reset();
    two_.reset();
    four_.reset();
    program_.reset();
    device_.reset();
    EXPECT_EQ(fake_cuda::num_objects(), 0U);
  }

  [[nodiscard]] Launch append(std::uint32_t number) const {
    return {two_.get(), {3, 1, 64}, {*numbers_, number}};
  }
  /// What kernels appended so far.
  [[nodiscard]] std::vector<std::uint32_t> appended() const {
    const auto all = download<std::uint32_t>(*device_, *numbers_, 20);
    return {all.begin() + 1, all.begin() + 1 + all[0]};
  }
  static std::size_t count(const std::string& call) {
    return static_cast<std::size_t>(std::ranges::count_if(
        fake_cuda::calls(), [&](const std::string& each) { return each.starts_with(call); }));
  }

  DeviceList list_;
  std::unique_ptr<GpuDevice> device_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Kernel> two_;
  std::unique_ptr<Kernel> four_;
  std::unique_ptr<Buffer> numbers_;
};

TEST_F(Cuda, DescribesACard) {
  const DeviceInfo& info = list_.devices[0];
  EXPECT_EQ(info.id(), "cuda:0");
  EXPECT_EQ(info.name, "a card of tests");
  EXPECT_THAT(info.driver, testing::StartsWith("CUDA 12.4"));
  EXPECT_EQ(info.target, "sm_90");
  EXPECT_EQ(info.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(info.units, 4);
}

TEST_F(Cuda, LaunchesInOrderWithTheirArguments) {
  device_->launch(append(7));
  device_->launch({four_.get(), {2, 5, 32}, {*numbers_, 1U, 2U, 3U}});
  device_->launch({two_.get(), {0, 1, 64}, {*numbers_, 9U}});  // nothing
  EXPECT_THAT(appended(), ElementsAre(7U, (1U * 31 + 2) * 31 + 3));
  EXPECT_THAT(fake_cuda::calls(),
              ElementsAre("cuLaunchKernel append_2 3x1x64", "cuLaunchKernel append_4 2x5x32",
                          "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"));
}

TEST_F(Cuda, ReplaysAreAGraph) {
  auto launches = std::make_unique<std::vector<Launch>>();
  for (const std::uint32_t number : {5U, 6U, 7U}) launches->push_back(append(number));
  launches->push_back({two_.get(), {0, 1, 64}, {*numbers_, 9U}});
  const auto replay = device_->prepare(*launches);
  EXPECT_TRUE(appended().empty());  // it was captured, not run
  // The graph has the values of the arguments: the list may go.
  for (Launch& each : *launches) each = append(1);
  launches.reset();
  fake_cuda::calls().clear();
  replay->run();
  device_->launch(append(8));
  replay->run();
  EXPECT_THAT(appended(), ElementsAre(5, 6, 7, 8, 5, 6, 7));
  if (cuda::driver().has_graphs()) {
    EXPECT_EQ(count("cuGraphLaunch"), 2U);
    EXPECT_EQ(count("cuLaunchKernel"), 1U);
  } else {
    EXPECT_EQ(count("cuLaunchKernel"), 7U);
  }
}

TEST_F(Cuda, CapturesOnceInThisOrder) {
  if (!cuda::driver().has_graphs()) GTEST_SKIP() << "a driver without graphs";
  const std::vector<Launch> launches = {append(5), append(6)};
  {
    const auto replay = device_->prepare(launches);
    replay->run();
    replay->run();
  }
  EXPECT_THAT(fake_cuda::calls(),
              ElementsAre("cuStreamBeginCapture_v2 1", "cuLaunchKernel append_2 3x1x64",
                          "cuLaunchKernel append_2 3x1x64", "cuStreamEndCapture",
                          "cuGraphInstantiateWithFlags", "cuGraphDestroy", "cuGraphLaunch",
                          "cuGraphLaunch", "cuGraphExecDestroy"));
}

TEST_F(Cuda, NoLaunchesAndOneAreNoGraph) {
  device_->prepare({})->run();
  const std::vector<Launch> one = {append(5)};
  device_->prepare(one)->run();
  EXPECT_EQ(count("cuGraph"), 0U);
  EXPECT_THAT(appended(), ElementsAre(5));
}

TEST_F(Cuda, ErrorsOfACaptureEndIt) {
  if (!cuda::driver().has_graphs()) GTEST_SKIP() << "a driver without graphs";
  const std::vector<Launch> launches = {append(5), append(6)};
  for (const auto& [function, what] :
       {std::pair<const char*, const char*>{"cuStreamBeginCapture_v2",
                                            "cuda:0: capture: some error (2)"},
        {"cuLaunchKernel", "cuda:0: launch: some error (2)"},
        {"cuStreamEndCapture", "cuda:0: capture: some error (2)"},
        {"cuGraphInstantiateWithFlags", "cuda:0: graph: some error (2)"}}) {
    fake_cuda::fail(function, 2, std::string(function) == "cuLaunchKernel" ? 1 : 0);
    expect_error(ErrorKind::kDevice, what, [&] { return device_->prepare(launches); });
  }
  // The stream takes launches again.
  device_->launch(append(4));
  EXPECT_THAT(appended(), ElementsAre(4));
}

TEST_F(Cuda, ErrorsOfAReplaySaySo) {
  const std::vector<Launch> launches = {append(5), append(6)};
  const auto replay = device_->prepare(launches);
  const bool is_graph = cuda::driver().has_graphs();
  fake_cuda::fail(is_graph ? "cuGraphLaunch" : "cuLaunchKernel", 719);
  expect_error(ErrorKind::kDevice,
               std::string("cuda:0: ") + (is_graph ? "replay" : "launch") +
                   ": unspecified launch failure (719)",
               [&] { replay->run(); });
}

TEST_F(Cuda, ErrorsOfOtherCallsSayWhatWasAsked) {
  fake_cuda::fail("cuMemAlloc_v2", 2);
  expect_error(ErrorKind::kDevice, "cuda:0: 100 bytes of memory",
               [&] { return device_->allocate(100); });
  fake_cuda::fail("cuMemcpyHtoDAsync_v2", 2);
  const std::vector<std::byte> bytes(4);
  expect_error(ErrorKind::kDevice, "copy to the device",
               [&] { device_->write(*numbers_, 0, bytes); });
  fake_cuda::fail("cuMemcpyDtoHAsync_v2", 2);
  expect_error(ErrorKind::kDevice, "copy from the device", [&] { return appended(); });
  fake_cuda::fail("cuStreamSynchronize", 719);
  expect_error(ErrorKind::kDevice, "wait: unspecified launch failure", [&] { device_->finish(); });
  fake_cuda::fail("cuModuleLoadData", 2);
  expect_error(ErrorKind::kDevice, "program", [&] { return device_->load(bytes); });
  expect_error(ErrorKind::kInternal, "kernel none", [&] { return program_->kernel("none"); });
  fake_cuda::fail("cuStreamCreate", 2);
  expect_error(ErrorKind::kDevice, "stream", [&] { return open_cuda_device(list_.devices[0]); });
}

TEST_F(Cuda, EventsMeasureTime) {
  const auto first = device_->record();
  EXPECT_DOUBLE_EQ(device_->record()->seconds_since(*first), 2e-3);
}

}  // namespace
}  // namespace halftone::gpu
