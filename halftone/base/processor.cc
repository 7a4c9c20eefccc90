// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/processor.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <thread>

#include "halftone/base/control_groups.h"

namespace halftone {
namespace {

/// The first value of a key in /proc/cpuinfo, "key : value"; empty if there is none.
std::string cpu_info(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

/// The cores that a group grants; infinite if it has no quota ("max", -1) or cannot be read.
double granted_by(const ControlGroup& group) {
  // Microseconds of all cores together, in each period of so many microseconds.
  const bool is_first = group.version == 1;
  std::istringstream text(is_first ? system_text(group.folder + "/cpu.cfs_quota_us") + " " +
                                         system_text(group.folder + "/cpu.cfs_period_us")
                                   : system_text(group.folder + "/cpu.max"));
  double quota = 0;
  double period = 0;
  text >> quota >> period;
  if (text.fail() || quota <= 0 || period <= 0) return std::numeric_limits<double>::infinity();
  return quota / period;
}

}  // namespace

std::string processor_name() {
  if (std::string name = cpu_info("model name"); !name.empty()) return name;
  const std::string implementer = cpu_info("CPU implementer");
  const std::string part = cpu_info("CPU part");
  return implementer.empty() || part.empty() ? "unknown" : implementer + " " + part;
}

int usable_cores(const std::string& root) {
  double cores = std::thread::hardware_concurrency();
  for (const ControlGroup& group : control_groups("cpu", root)) {
    cores = std::min(cores, std::ceil(granted_by(group)));
  }
  return std::max(1, static_cast<int>(cores));
}

}  // namespace halftone
