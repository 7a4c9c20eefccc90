// SPDX-License-Identifier: Apache-2.0
// Properties of the machine.
#pragma once

#include <cstddef>
#include <string>

namespace halftone::bench {

/// Bytes of the caches that one core sees.
struct Caches {
  std::size_t l1 = std::size_t{32} << 10;
  std::size_t l2 = std::size_t{512} << 10;
  std::size_t l3 = std::size_t{32} << 20;
};
/// As reported by Linux for the first processor, otherwise the defaults above. (sysconf() reports
/// the third level of a whole package, of which a core may use an eighth.)
const Caches& caches();

/// Memory levels and execution units of a core. Their speeds bound those of the kernels.
enum class Limit { kL1, kL2, kL3, kDram, kFloat, kInt8, kBinary, kLookUp };

/// "L1", "DRAM", "f32", "int8", ...
const char* to_string(Limit limit);

/// The fastest memory level that holds this many bytes between runs, with room for other data.
Limit level_that_holds(std::size_t bytes);

}  // namespace halftone::bench
