// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/driver.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/gpu/testing.h"
#include "halftone/gpu/texts.h"

namespace halftone::gpu {
namespace {

using DriverOnDevice = OnDevice;

TEST(Devices, AreNamedByInterfaceAndNumber) {
  for (const char* name : {"", "gpu", "opencl:", "opencl:-1", "opencl:x", "cuda:1.5", "cuda:0 "}) {
    expect_error(ErrorKind::kUsage, "expected auto, cpu, opencl, cuda",
                 [&] { return open_device(name); });
  }
}

TEST(Devices, ThatAreNotThereAreNamedWithWhatIsMissing) {
  for (const char* name : {"opencl:99", "cuda:99"}) {
    expect_error(ErrorKind::kDevice, std::string("no device ") + name + ": ",
                 [&] { return open_device(name); });
  }
}

TEST(Devices, ListsSayWhatIsMissingOrWhatIsThere) {
  for (const Api api : {Api::kOpenCl, Api::kCuda}) {
    const DeviceList list = list_devices(api);
    EXPECT_EQ(list.devices.empty(), !list.missing.empty());
    for (const DeviceInfo& info : list.devices) {
      EXPECT_FALSE(info.name.empty());
      EXPECT_FALSE(info.driver.empty());
      EXPECT_GT(info.memory_bytes, 0U);
      EXPECT_GT(info.units, 0);
    }
  }
}

TEST_F(DriverOnDevice, MemoryKeepsWhatIsWritten) {
  const std::vector<std::uint32_t> numbers = {1, 2, 3, 4};
  const auto buffer = on_device(numbers);
  const std::vector<std::uint32_t> two = {7, 8};
  device->write(*buffer, 4, std::as_bytes(std::span(two)));
  EXPECT_EQ(download<std::uint32_t>(*device, *buffer, 4), (std::vector<std::uint32_t>{1, 7, 8, 4}));
}

TEST_F(DriverOnDevice, RefusesMoreMemoryThanThereIs) {
  expect_error(ErrorKind::kDevice, "1125899906842624 bytes of memory",
               [] { return device->allocate(std::size_t{1} << 50); });
}

TEST_F(DriverOnDevice, SaysInOneLineWhatDoesNotCompile) {
  try {
    const auto program = device->compile("no text");
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST_F(DriverOnDevice, RefusesKernelsThatATextLacks) {
  expect_error(ErrorKind::kInternal, "kernel none",
               [] { return device->compile("")->kernel("none"); });
}

TEST_F(DriverOnDevice, RepeatsWhatWasPrepared) {
  const auto program =
      device->compile(program_text("", {}) +
                      "KERNEL add(GLOBAL uint* y, GLOBAL const uint* x, uint number) {\n"
                      "  uint i = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();\n"
                      "  y[i] = 2u * y[i] + x[i] + number;\n"
                      "}\n");
  const auto kernel = program->kernel("add");
  const auto x = on_device(std::vector<std::uint32_t>{10, 20, 30, 40});
  const auto y = on_device(std::vector<std::uint32_t>{0, 0, 0, 0});
  std::vector<Launch> launches = {{kernel.get(), {2, 1, 2}, {*y, *x, 1U}},
                                  {kernel.get(), {0, 1, 2}, {*y, *x, 7U}},
                                  {kernel.get(), {1, 1, 2}, {*y, *x, 2U}}};
  const auto replay = device->prepare(launches);
  launches.clear();
  EXPECT_EQ(download<std::uint32_t>(*device, *y, 4), (std::vector<std::uint32_t>{0, 0, 0, 0}));
  replay->run();
  // ((0 2 + x + 1) 2 + x + 2) of the first two, 0 2 + x + 1 of the others
  EXPECT_EQ(download<std::uint32_t>(*device, *y, 4), (std::vector<std::uint32_t>{34, 64, 31, 41}));
  device->write(
      *x, 0, std::as_bytes(std::span<const std::uint32_t>(std::vector<std::uint32_t>{0, 0, 0, 0})));
  replay->run();
  EXPECT_EQ(download<std::uint32_t>(*device, *y, 4),
            (std::vector<std::uint32_t>{140, 260, 63, 83}));
}

TEST_F(DriverOnDevice, EventsMeasureTime) {
  const auto first = device->record();
  const auto second = device->record();
  EXPECT_GE(second->seconds_since(*first), 0);
  device->finish();
}

TEST(Launches, RefuseExtentsThatKernelsCannotCount) {
  expect_error(ErrorKind::kUnsupported, "below 2^32", [] { return number(std::size_t{1} << 32); });
}

}  // namespace
}  // namespace halftone::gpu
