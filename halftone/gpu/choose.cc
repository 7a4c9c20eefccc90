// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/choose.h"

#include <array>
#include <tuple>

namespace halftone::gpu {
namespace {

bool is_card(const DeviceInfo& info) { return info.problem.empty() && !info.is_processor; }

bool is_better(const DeviceInfo& a, const DeviceInfo& b) {
  const auto rank = [](const DeviceInfo& info) {
    return std::tuple(info.api == Api::kCuda, info.memory_bytes);
  };
  return rank(a) > rank(b);
}

/// Why devices of a list are not used.
std::string why_not(const DeviceList& list) {
  if (list.devices.empty()) return list.missing;
  std::string text;
  for (const DeviceInfo& info : list.devices) {
    text += (text.empty() ? "" : "; ") + info.id() + ": " +
            (info.problem.empty() ? "OpenCL on the processor" : info.problem);
  }
  return text;
}

}  // namespace

ChosenDevice choose_device(std::span<const DeviceList> lists) {
  const DeviceInfo* best = nullptr;
  std::string missing;
  for (const DeviceList& list : lists) {
    for (const DeviceInfo& info : list.devices) {
      if (is_card(info) && (best == nullptr || is_better(info, *best))) best = &info;
    }
    missing += (missing.empty() ? "" : "; ") + why_not(list);
  }
  if (best == nullptr) return {"cpu", "there is no graphics card to use: " + missing};
  return {best->id(), best->name + ", the card with the most memory"};
}

ChosenDevice choose_device() {
  const std::array lists = {list_devices(Api::kCuda), list_devices(Api::kOpenCl)};
  return choose_device(lists);
}

}  // namespace halftone::gpu
