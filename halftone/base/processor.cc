// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/processor.h"

#include <fstream>
#include <string_view>

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

}  // namespace

std::string processor_name() {
  if (std::string name = cpu_info("model name"); !name.empty()) return name;
  const std::string implementer = cpu_info("CPU implementer");
  const std::string part = cpu_info("CPU part");
  return implementer.empty() || part.empty() ? "unknown" : implementer + " " + part;
}

}  // namespace halftone
