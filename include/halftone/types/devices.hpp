// SPDX-License-Identifier: Apache-2.0
// What a machine can compute with.
#pragma once

#include <cstdint>
#include <string>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A processor or a graphics card; or an interface to cards, where there is no card.
  struct Device {
    std::string id;        ///< "cpu", "opencl:0", "cuda:1"; of an interface without cards "cuda"
    std::string name{};    ///< of the model; empty for an interface
    std::string driver{};  ///< and its version; of the processor the instruction set of kernels
    std::uint64_t memory_bytes = 0;  ///< that it has; of the processor what is free; 0: not known
    /// Why it cannot be used, and what to install; empty if it can.
    std::string problem{};

    bool operator==(const Device&) const = default;
  };

}  // namespace v0
}  // namespace halftone
