// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/pack/kernel_costs.h"

#include <array>
#include <string>

#include "halftone/base/error.h"

namespace halftone::export_c {
namespace {

struct NamedCore {
  std::string_view name;
  Core core;
};
constexpr std::array<NamedCore, 9> kNamedCores = {{{"cortex-m0", Core::kM0},
                                                   {"cortex-m3", Core::kM3},
                                                   {"cortex-m4", Core::kM4},
                                                   {"cortex-m7", Core::kM4},
                                                   {"cortex-m33", Core::kM4},
                                                   {"cortex-m55", Core::kM4},
                                                   {"rv32", Core::kRv32},
                                                   {"rv32-zbb", Core::kRv32Zbb},
                                                   {"wasm", Core::kRv32Zbb}}};
constexpr std::size_t kNumCores = 5;

struct Cost {
  double per_mac;
  double per_output;
  double per_input;
};

/// Of each core, in the order of Kernel. Measured of 64 and 256 inputs, 8 and 32 outputs; the
/// formula is within 28% for kBits, 13% for kSigns and 6% for the others.
using Costs = std::array<Cost, kNumKernels>;
constexpr std::array<Costs, kNumCores> kCosts = {{
    // m0
    {{
        {0.423, 68, 5.4},   // bits
        {0.668, 52, 4.1},   // signs
        {1.190, 38, 9.4},   // planes
        {2.071, 36, 6.5},   // digits_2
        {2.521, 70, 13.0},  // levels_1
        {5.532, 61, 13.0},  // levels_1_1
        {2.619, 69, 12.7},  // levels_2
        {3.247, 71, 12.9},  // levels_4
        {7.823, 67, 5.6},   // level_table
        {4.649, 62, 12.2},  // bytes
    }},
    // m3
    {{
        {0.306, 47, 1.9},  // bits
        {0.417, 17, 0.9},  // signs
        {0.646, 15, 3.5},  // planes
        {0.758, 27, 2.7},  // digits_2
        {1.327, 34, 6.4},  // levels_1
        {2.801, 25, 6.4},  // levels_1_1
        {1.451, 34, 6.2},  // levels_2
        {1.665, 34, 6.2},  // levels_4
        {3.978, 20, 1.1},  // level_table
        {2.563, 24, 8.1},  // bytes
    }},
    // m4
    {{
        {0.302, 50, 2.1},  // bits
        {0.416, 17, 0.9},  // signs
        {0.655, 15, 3.5},  // planes
        {0.781, 28, 2.6},  // digits_2
        {1.329, 34, 6.4},  // levels_1
        {2.779, 25, 6.3},  // levels_1_1
        {1.510, 34, 6.3},  // levels_2
        {1.656, 34, 6.2},  // levels_4
        {4.039, 21, 1.1},  // level_table
        {1.613, 16, 6.3},  // bytes
    }},
    // rv32
    {{
        {0.325, 47, 1.8},  // bits
        {0.710, 17, 0.5},  // signs
        {1.404, 19, 4.0},  // planes
        {1.500, 34, 2.3},  // digits_2
        {2.488, 33, 7.0},  // levels_1
        {5.176, 21, 7.0},  // levels_1_1
        {2.489, 33, 6.9},  // levels_2
        {2.781, 33, 6.9},  // levels_4
        {7.016, 15, 0.6},  // level_table
        {3.539, 21, 6.2},  // bytes
    }},
    // rv32_zbb
    {{
        {0.134, 10, 0.8},  // bits
        {0.710, 16, 0.5},  // signs
        {1.404, 19, 4.0},  // planes
        {1.500, 34, 2.3},  // digits_2
        {2.487, 32, 7.0},  // levels_1
        {5.160, 21, 7.0},  // levels_1_1
        {2.489, 32, 6.9},  // levels_2
        {2.780, 32, 6.9},  // levels_4
        {7.016, 15, 0.6},  // level_table
        {3.539, 21, 6.2},  // bytes
    }},
}};

}  // namespace

std::string_view name_of(Kernel kernel) {
  constexpr std::array<std::string_view, kNumKernels> kNames = {
      "bits",       "signs",    "planes",   "digits_2",    "levels_1",
      "levels_1_1", "levels_2", "levels_4", "level_table", "bytes"};
  return kNames[static_cast<std::size_t>(kernel)];
}

Core core_named(std::string_view name) {
  std::string names;
  for (const NamedCore& each : kNamedCores) {
    if (each.name == name) return each.core;
    names += std::string(each.name) + ", ";
  }
  fail(ErrorKind::kUsage, "core: expected " + names + "found '" + std::string(name) + "'");
}

double instructions(Kernel kernel, Core core, const Product& product) {
  const Cost& cost = kCosts[static_cast<std::size_t>(core)][static_cast<std::size_t>(kernel)];
  double products = 1;
  if (kernel == Kernel::kBits) products = static_cast<double>(product.x_planes * product.w_planes);
  if (kernel == Kernel::kDigits2) products = static_cast<double>(product.x_digits);
  if (kernel == Kernel::kPlanes || kernel == Kernel::kSigns) {
    products = static_cast<double>(product.x_digits * product.w_planes);
  }
  const auto inputs = static_cast<double>(product.inputs);
  const auto outputs = static_cast<double>(product.outputs) * products;
  return outputs * (cost.per_mac * inputs + cost.per_output) + cost.per_input * inputs;
}

}  // namespace halftone::export_c
