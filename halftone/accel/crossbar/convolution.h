// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halftone/accel/crossbar/arrays.h"
#include "halftone/accel/crossbar/device.h"
#include "halftone/ir/tensor.h"
#include "halftone/runtime/implementation.h"

namespace halftone::crossbar {

/// The arrays of the weights of a convolution, by group of channels.
/// @param seed  of the weights; each group has its own
std::vector<Arrays> group_arrays(const CrossbarDevice& device, const ir::EncodedTensor& weights,
                                 std::size_t groups, std::uint64_t seed);

/// layer_kernel() of a Conv.
/// @param seed  of its weights; each group of channels has its own
runtime::Kernel convolution_kernel(const runtime::NodeContext& context,
                                   const CrossbarDevice& device, std::uint64_t seed);

}  // namespace halftone::crossbar
