// SPDX-License-Identifier: Apache-2.0
// What a device does in a second, measured by launches of its kernels.
#pragma once

#include <functional>
#include <vector>

#include "halftone/gpu/programs.h"

namespace halftone::gpu {

/// A cost that grows with the work: seconds = fixed_s + work / per_second.
struct LinearCost {
  double fixed_s = 0;
  double per_second = 1;
};
/// The cost through two points; where the time does not grow, the rate of the larger one.
/// @pre  0 < small_work < large_work, and positive seconds
LinearCost linear_cost(double small_work, double small_s, double large_work, double large_s);

/// Products of rows of int8 with a matrix whose weights have a number of bits.
struct ProductSpeed {
  int weight_bits = 0;
  double per_second = 1;         ///< products, once the weights are decoded
  double s_per_weight_byte = 0;  ///< to read and decode a weight, whatever the rows
};

struct DeviceSpeeds {
  DeviceInfo info;
  double launch_s = 0;                 ///< of one launch of several
  double round_trip_s = 0;             ///< of one launch that the processor waits for
  double copy_bytes_per_second = 1;    ///< read and written by a kernel
  double host_bytes_per_second = 1;    ///< copied to the device
  double host_s = 0;                   ///< of a copy of four bytes from the device
  double operations_per_second = 1;    ///< of an elementary function, which counts as kFunctionCost
  std::vector<ProductSpeed> products;  ///< ascending bits
  LinearCost attention;                ///< of products of queries with keys and values
};
inline constexpr double kFunctionCost = 8;

struct SpeedOptions {
  double seconds = 0.02;  ///< measure each at least this long
  /// May be empty. @param fraction  from 0 on, below 1
  std::function<void(double fraction)> progress{};
};
/// @throws Error as GpuDevice
DeviceSpeeds measure_speeds(Programs& programs, const SpeedOptions& options = {});

}  // namespace halftone::gpu
