// SPDX-License-Identifier: Apache-2.0
// A run of training on disk, so that it can go on.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halftone/train/learn/named_tensors.h"
#include "halftone/train/run/history.h"

namespace halftone::train {

/// Something that decides what a run gives: "batch" is "128".
struct Setting {
  std::string name;
  std::string value;
};
using RunSettings = std::vector<Setting>;

/// @throws Error kUsage "is of another run: BATCH was 64, is 128" that names the first difference
void check_run_settings(const RunSettings& found, const RunSettings& expected);

/// Where a run stands between two steps.
struct Checkpoint {
  RunSettings settings;
  std::size_t steps = 0;            ///< done, in all epochs
  std::vector<EpochResult> epochs;  ///< that are over
  EpochResult unfinished;           ///< sums of the epoch that is not
  NamedTensors tensors;
};

/// A checkpoint as a file holds it:
///
///     16 bytes  "halftone run 1\r\n"
///      8 bytes  bytes of the archive, little-endian
///      8 bytes  their Hash, little-endian
///               the archive, of libtorch: a zip file of pickled tensors
std::vector<std::byte> to_bytes(const Checkpoint& checkpoint);
/// @throws Error kFormat if the bytes are no checkpoint, are cut short or were changed
Checkpoint checkpoint_from(std::span<const std::byte> bytes);

}  // namespace halftone::train
