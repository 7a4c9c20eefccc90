// SPDX-License-Identifier: Apache-2.0
// All that a student is taught by: any number of teachers, asked or read from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/ir/graph.h"
#include "halftone/spmd/devices.h"
#include "halftone/train/samples/batches.h"
#include "halftone/train/teacher/score_cache.h"
#include "halftone/train/teacher/score_memory.h"
#include "halftone/train/teacher/teacher.h"

namespace halftone::train {

class Teachers {
 public:
  /// @param student   the samples as the student sees them; their data must outlive this
  /// @param run       samples of a part
  /// @param features  values of the first teacher
  /// @throws Error as Teacher, with "teacher I: " in front; kShape if classes differ
  Teachers(const std::vector<ir::Graph>& graphs, const Batches& student, std::size_t run,
           std::span<const ir::ValueId> features);

  [[nodiscard]] bool empty() const { return teachers_.empty(); }
  [[nodiscard]] std::int64_t classes() const { return teachers_.front()->classes(); }

  /// From now on scores come from a file, with the bits that asking gives. Where it is missing, it
  /// is made: the samples as they are go through all teachers, in runs that devices share. Ranks
  /// read and write files of their own, or share one. All of them call it.
  /// @param progress  of the making
  /// @throws Error as ScoreCache and NewFile; kFormat if the file holds other answers than the
  ///         teachers give to the first run of samples
  void use_cache(const std::filesystem::path& path, const spmd::Devices& devices,
                 const ProgressSink& progress);

  /// What all say of at most a run of samples. Several threads may ask at once. Where samples are
  /// the same in every epoch, teachers are asked about each once, as long as there is room for what
  /// they said.
  /// @return  scores [teachers, samples, classes], features of the first
  [[nodiscard]] Answers answer(std::span<const std::size_t> samples,
                               std::optional<std::size_t> epoch);

 private:
  [[nodiscard]] Answers ask(std::span<const std::size_t> samples, std::optional<std::size_t> epoch);
  void write_cache(const std::filesystem::path& path, const ScoreCacheKey& key,
                   const spmd::Devices& devices, bool is_mine, const ProgressSink& progress);
  void check_cache(const std::filesystem::path& path);

  const data::Dataset& data_;
  std::size_t run_;
  std::vector<std::unique_ptr<Teacher>> teachers_;
  std::optional<ScoreCache> cache_;
  std::optional<ScoreMemory> memory_;
};

}  // namespace halftone::train
