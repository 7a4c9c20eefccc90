// SPDX-License-Identifier: Apache-2.0
// Upper limits of one core: loops that only read or only compute.
#pragma once

#include "bench/case.h"

namespace halftone::bench {

/// The loop that measures a limit on the current SIMD target, with the instructions of the kernels.
/// Its work: bytes of a level of memory, or operations of a unit.
/// - kFloat: a fused multiply-add is 2 operations;
/// - kInt8: a product of 8-bit integers and its addition are 2 (vpdpbusd; elsewhere
///   pmaddubsw and pmaddwd);
/// - kBinary: xor and addition of one bit are 2 (vpopcntq; elsewhere pshufb);
/// - kLookUp: one entry is 1 (vpermw on AVX-512; elsewhere pshufb).
Prepared prepare_limit(Limit limit);

/// Look-ups per product when a plane of weights multiplies 8-bit activations, on the current
/// target.
double look_ups_per_product();

}  // namespace halftone::bench
