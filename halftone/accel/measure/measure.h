// SPDX-License-Identifier: Apache-2.0
// Describes the processor at hand as an accelerator, by measuring layers on it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/base/progress.h"

namespace halftone::runtime {
class StepDevice;
}

namespace halftone::accel {

struct ProbeSettings {
  int threads = 1;                 ///< that a layer may use
  double seconds_per_run = 0.02;   ///< measure each small network at least this long ...
  std::size_t min_runs = 30;       ///< ... and so often
  double max_probe_bytes = 256e6;  ///< of the weights that say how fast the memory is
  ProgressSink progress{};
  /// That runs the networks, in measure_samples(); null: the processor. Has no probes of memory.
  std::shared_ptr<const runtime::StepDevice> device{};
};

/// One operation of a small network and its median time.
struct Sample {
  Operation operation;
  double seconds = 0;
};

/// Measures small networks of each kind of layer, in float32 and with weights and inputs of 1, 2,
/// 3, 4 and 8 bits (learned levels up to 4 bits, affine with 8), and other operators on float32.
/// @throws Error kUsage as runtime::profile()
std::vector<Sample> measure_samples(const ProbeSettings& options);

/// For each kind of operation and each width of its factors or codes it fits, by least squares of
/// the relative error and without negative terms:
///
///     layers  seconds = overhead + products / rate + s_per_output outputs
///                       + s_per_weight_byte bytes of the weights
///     others  seconds = overhead + s_per_operation operations + s_per_output outputs
///
/// Channels of each tap, then the inner extent, are rounded up before: for each width to the
/// numbers that describe its layers best. The bandwidth of a cache, and of the memory, is the one
/// at which a layer with one row reads weights that are there.
/// @param name  of the processor
/// @return a description; its `comparison` says how well it describes the samples
Accelerator describe(const std::vector<Sample>& samples, const std::string& name);

/// The processor at hand. @throws Error as measure_samples()
Accelerator measure_processor(const ProbeSettings& options = {});

}  // namespace halftone::accel
