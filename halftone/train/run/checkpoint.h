// SPDX-License-Identifier: Apache-2.0
// The state of a training run on disk, from which it can resume.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halftone/train/learn/named_tensors.h"
#include "halftone/train/run/history.h"

namespace halftone::train {

/// A setting that affects the result of a run: "batch" is "128".
struct Setting {
  std::string name;
  std::string value;
};
using RunSettings = std::vector<Setting>;

/// @throws Error kUsage "belongs to another run: BATCH was 64, is 128" with the first difference
void check_run_settings(const RunSettings& found, const RunSettings& expected);

/// The state of a run between two steps.
struct Checkpoint {
  RunSettings settings;
  std::size_t steps = 0;            ///< done, in all epochs
  std::vector<EpochResult> epochs;  ///< finished ones
  EpochResult unfinished;           ///< sums of the current epoch
  NamedTensors tensors;
};

/// The file format of a checkpoint:
///
///     16 bytes  "halftone run 1\r\n"
///      8 bytes  size of the archive in bytes, little-endian
///      8 bytes  Hash of the archive, little-endian
///               libtorch archive: a zip file of pickled tensors
std::vector<std::byte> to_bytes(const Checkpoint& checkpoint);
/// @throws Error kFormat if the bytes are not a checkpoint, truncated or modified
Checkpoint checkpoint_from(std::span<const std::byte> bytes);

}  // namespace halftone::train
