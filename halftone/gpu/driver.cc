// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/driver.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/gpu/cuda.h"
#include "halftone/gpu/opencl.h"

namespace halftone::gpu {
namespace {

struct DeviceName {
  Api api;
  std::optional<int> index;
};

DeviceName parse_name(std::string_view id) {
  const std::size_t colon = id.find(':');
  const std::string_view api = id.substr(0, colon);
  DeviceName name{api == "cuda" ? Api::kCuda : Api::kOpenCl, std::nullopt};
  bool is_name = api == "cuda" || api == "opencl";
  if (is_name && colon != std::string_view::npos) {
    const std::string_view digits = id.substr(colon + 1);
    int index = -1;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), index);
    is_name = error == std::errc{} && end == digits.end() && index >= 0;
    name.index = index;
  }
  if (is_name) return name;
  fail(ErrorKind::kUsage,
       "device: expected auto, cpu, opencl, cuda or one with a number, such as "
       "opencl:0, found '" +
           std::string(id) + "'");
}

}  // namespace

std::string_view to_string(Api api) { return api == Api::kCuda ? "cuda" : "opencl"; }

std::string DeviceInfo::id() const {
  return std::string(to_string(api)) + ":" + std::to_string(index);
}

DeviceList list_devices(Api api) {
  return api == Api::kCuda ? list_cuda_devices() : list_opencl_devices();
}

std::unique_ptr<GpuDevice> open_device(std::string_view id) {
  const DeviceName name = parse_name(id);
  const DeviceList list = list_devices(name.api);
  const auto found = std::ranges::find_if(list.devices, [&](const DeviceInfo& info) {
    return name.index ? info.index == *name.index : info.problem.empty();
  });
  if (found == list.devices.end()) {
    std::string why = list.missing;
    if (!list.devices.empty()) {
      why = name.index ? "the last one is " + list.devices.back().id() : list.devices[0].problem;
    }
    fail(ErrorKind::kDevice, "no device " + std::string(id) + ": " + why);
  }
  if (!found->problem.empty()) fail(ErrorKind::kDevice, found->id() + ": " + found->problem);
  return name.api == Api::kCuda ? open_cuda_device(*found) : open_opencl_device(*found);
}

}  // namespace halftone::gpu
