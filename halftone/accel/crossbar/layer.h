// SPDX-License-Identifier: Apache-2.0
// Layers of bits whose products arrays compute: the same formulas as the digital kernels, with the
// counts of arrays in place of exact ones.
#pragma once

#include <cstdint>
#include <optional>

#include "halftone/accel/crossbar/device.h"
#include "halftone/runtime/implementation.h"

namespace halftone::crossbar {

/// A kernel that programs arrays with the weights of a layer and reads them plane by plane of the
/// input. Its outputs are those of kernels::bit_matmul() or kernels::bit_conv(), bit for bit, with
///
///     a_j D_ij   replaced by   scale_u (2 U_iu - total_u) + low_u S_i
///
/// for the units u of an output in place of its planes j (UnitMeaning), and U the counts that
/// Arrays::read() gives. Each group of channels of a convolution has its own arrays; taps outside
/// the image have no pulses, as the digital kernel gives them code 0.
/// @param context  of a FullyConnected or Conv that computes bits
/// @param seed     of all layers; those of different weights have different seeds
/// @return         nothing for other operators
/// @throws Error   as Arrays
std::optional<runtime::Kernel> layer_kernel(const runtime::NodeContext& context,
                                            const CrossbarDevice& device, std::uint64_t seed);

}  // namespace halftone::crossbar
