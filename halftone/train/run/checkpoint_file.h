// SPDX-License-Identifier: Apache-2.0
// The checkpoint file of a run, and when it is written.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "halftone/spmd/devices.hpp"
#include "halftone/train/options/train_options.h"
#include "halftone/train/run/checkpoint.h"

namespace halftone::train {

/// The checkpoint file that all ranks of a run share. The first rank reads and writes it, and
/// decides when.
class CheckpointFile {
 public:
  CheckpointFile(CheckpointOptions options, spmd::Devices devices);

  [[nodiscard]] bool is_kept() const { return !options_.path.empty(); }
  /// The checkpoint to resume from; nothing for a new run. All ranks call it, with equal results.
  /// @param settings  of the run; called on the first rank only
  /// @throws Error kIo, kFormat and kUsage as read_file(), checkpoint_from() and
  ///         check_run_settings(); kUsage if a new run would overwrite an existing file
  [[nodiscard]] std::optional<Checkpoint> open(const std::function<RunSettings()>& settings);
  /// Whether it is time to save; always false on the other ranks.
  [[nodiscard]] bool is_due() const;
  /// Replaces the whole file; does nothing on the other ranks.
  /// @throws Error as write_file()
  void save(Checkpoint checkpoint);

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::vector<std::byte> read();

  CheckpointOptions options_;
  spmd::Devices devices_;
  RunSettings settings_;  ///< on the first rank
  Clock::time_point saved_ = Clock::now();
};

}  // namespace halftone::train
