// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <fstream>

namespace halftone::bench {
namespace {

Caches read_caches() {
  Caches found;
  for (int index = 0;; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream size_file(folder + "size");
    int level = 0;
    std::string type;
    std::size_t size = 0;
    char unit = 0;
    if (!(size_file >> size)) return found;
    std::ifstream(folder + "level") >> level;
    std::ifstream(folder + "type") >> type;
    if (size_file >> unit && unit == 'K') size <<= 10;
    if (unit == 'M') size <<= 20;
    if (type == "Instruction" || size == 0) continue;
    if (level == 1) found.l1 = size;
    if (level == 2) found.l2 = size;
    if (level == 3) found.l3 = size;
  }
}

}  // namespace

const Caches& caches() {
  static const Caches found = read_caches();
  return found;
}

const char* to_string(Limit limit) {
  switch (limit) {
    case Limit::kL1:
      return "L1";
    case Limit::kL2:
      return "L2";
    case Limit::kL3:
      return "L3";
    case Limit::kDram:
      return "DRAM";
    case Limit::kFloat:
      return "f32";
    case Limit::kInt8:
      return "int8";
    case Limit::kBinary:
      return "binary";
    case Limit::kLookUp:
      return "look-up";
  }
  return "";
}

Limit level_that_holds(std::size_t bytes) {
  const std::size_t needed = bytes + bytes / 4;
  if (needed <= caches().l1) return Limit::kL1;
  if (needed <= caches().l2) return Limit::kL2;
  return needed <= caches().l3 ? Limit::kL3 : Limit::kDram;
}

}  // namespace halftone::bench
