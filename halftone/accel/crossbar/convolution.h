// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "halftone/accel/crossbar/device.h"
#include "halftone/runtime/implementation.h"

namespace halftone::crossbar {

/// layer_kernel() of a Conv.
/// @param seed  of its weights; each group of channels has its own
runtime::Kernel convolution_kernel(const runtime::NodeContext& context, const Device& device,
                                   std::uint64_t seed);

}  // namespace halftone::crossbar
