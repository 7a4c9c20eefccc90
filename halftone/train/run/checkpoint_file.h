// SPDX-License-Identifier: Apache-2.0
// Where the checkpoint of a run lies, and when it is written.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "halftone/spmd/devices.h"
#include "halftone/train/run/checkpoint.h"

namespace halftone::train {

struct CheckpointOptions {
  std::string path;     ///< none: nothing is kept
  double minutes = 10;  ///< from one save to the next; 0: before every step
  bool resume = false;  ///< goes on from the file, which without must not be there yet
};

/// The file of a run that several ranks share: the first one reads and writes it, and looks at the
/// clock.
class CheckpointFile {
 public:
  CheckpointFile(CheckpointOptions options, spmd::Devices devices);

  [[nodiscard]] bool is_kept() const { return !options_.path.empty(); }
  /// What the run goes on from, the same on all ranks, which all call this; nothing if it starts.
  /// @param settings  of the run; asked on the first rank only
  /// @throws Error kIo, kFormat and kUsage as read_file(), checkpoint_from() and
  /// check_run_settings();
  ///         kUsage if a run that starts would overwrite another's file
  [[nodiscard]] std::optional<Checkpoint> open(const std::function<RunSettings()>& settings);
  /// Whether it is time to write; only ever on the first rank.
  [[nodiscard]] bool is_due() const;
  /// Replaces the file as a whole; on ranks but the first nothing happens.
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
