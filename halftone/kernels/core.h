// SPDX-License-Identifier: Apache-2.0
// Families of processors whose kernels differ in their relative speed.
#pragma once

namespace halftone::kernels {

enum class Core {
  kAvx2,       ///< and every other one without a family of its own; 64-bit Arm is not measured
  kAvx512,     ///< with VNNI: Highway's AVX3_DL
  kAvx512Amd,  ///< the same by AMD, which computes 512 bits in two halves up to Zen 4
};

/// The family that the kernels' current target is for. Safe while kernels run.
Core current_core() noexcept;

/// Whether products of small levels, up to 15, are faster than others on the kernels' current
/// target: where sums of several of them are added in 16 bits.
bool prefers_small_levels() noexcept;

}  // namespace halftone::kernels
