// SPDX-License-Identifier: Apache-2.0
// A small space of hardware for tests.
#pragma once

#include <string>

namespace halftone::accel::test {

/// 8 or 16 arrays of the chip "edge-2bit". @param weight_bits  for example "2, 8"
inline std::string space_of_arrays(const std::string& weight_bits) {
  return "accelerator = \"edge-2bit\"\nweight_bits = [" + weight_bits +
         "]\n"
         "[[parameter]]\nkey = \"unit.bit-serial array.count\"\nvalues = [8, 16]\n"
         "[[area]]\nof = [\"unit.bit-serial array.count\"]\nmm2 = 0.1\n";
}

}  // namespace halftone::accel::test
