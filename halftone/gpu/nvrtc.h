// SPDX-License-Identifier: Apache-2.0
// Compiles CUDA C++. Private to this module and its tests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace halftone::gpu {

/// Whether NVRTC is installed.
bool has_nvrtc();
/// "NVRTC 13.0"
std::string nvrtc_version();
/// Compiles without contraction, with denormal numbers, and with rounded quotients and roots.
/// @param target  "sm_90"
/// @return        a cubin
/// @throws Error kDevice with the compiler's first lines, or if NVRTC is not installed
std::vector<std::byte> compile_cuda(const std::string& text, const std::string& target);

}  // namespace halftone::gpu
