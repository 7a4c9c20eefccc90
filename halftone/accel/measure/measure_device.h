// SPDX-License-Identifier: Apache-2.0
// Describes a graphics card as an accelerator, by measuring kernels and layers on it.
#pragma once

#include <string>
#include <vector>

#include "halftone/accel/measure/measure.h"

namespace halftone::gpu {
struct DeviceSpeeds;
}

namespace halftone::accel {

/// A description whose estimates are times on a device:
///
///     memory    its size, and the bandwidth of a kernel that copies; caches that never limit
///     host      the bandwidth and the time of a copy
///     others    overhead of a launch, and what samples say, by least squares as describe()
///     language  layers of 8-bit inputs: launch + products / rate + s_per_weight_byte bytes, by
///               the bits of the weights
///
/// 8-bit layers of networks count as those of language models. Samples include a wait for the
/// device, which a network has once: it is subtracted.
/// @param samples  of networks on the device; may be empty: of language models only
Accelerator describe_device(const gpu::DeviceSpeeds& speeds, std::vector<Sample> samples);

/// Measures a device.
/// @param name  as of gpu::open_device(), or "auto"; empty or "cpu": measure_processor()
/// @throws Error as gpu::open_device(); kDevice as gpu::GpuDevice; as measure_samples()
Accelerator measure_device(const std::string& name, const ProbeSettings& options = {});

}  // namespace halftone::accel
