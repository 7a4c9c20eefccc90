// SPDX-License-Identifier: Apache-2.0
// All teachers of a student, run or read from a file.
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
#include "halftone/spmd/devices.hpp"
#include "halftone/train/samples/batches.h"
#include "halftone/train/teacher/score_cache.h"
#include "halftone/train/teacher/score_memory.h"
#include "halftone/train/teacher/teacher.h"

namespace halftone::train {

class Teachers {
 public:
  /// @param student   the student's samples; their data must outlive this
  /// @param run       number of samples in a part
  /// @param features  values of the first teacher
  /// @throws Error as Teacher, prefixed with "teacher I: "; kShape if scores differ in shape
  Teachers(const std::vector<ir::Graph>& graphs, const Batches& student, std::size_t run,
           std::span<const ir::ValueId> features);

  [[nodiscard]] bool empty() const { return teachers_.empty(); }
  /// [N, ..., classes], of each
  [[nodiscard]] const ir::Shape& scores() const { return teachers_.front()->scores(); }

  /// Reads scores from a file from now on; they equal those of the teachers bit for bit. A missing
  /// file is created: all samples, without augmentation, pass through all teachers, in runs
  /// distributed over the devices. Ranks use files of their own or share one. All ranks call it.
  /// @param progress  of creating the file
  /// @throws Error as ScoreCache and NewFile; kFormat if the file and the teachers differ on the
  ///         first run of samples
  void use_cache(const std::filesystem::path& path, const spmd::Devices& devices,
                 const ProgressSink& progress);

  /// The answers of all teachers for at most a run of samples. Several threads may call it at once.
  /// If samples are the same in every epoch, teachers run once per sample, provided that the scores
  /// fit into memory.
  /// @return  scores [teachers, samples, scores of a sample]; features of the first teacher
  [[nodiscard]] Answers answer(std::span<const std::size_t> samples,
                               std::optional<std::size_t> epoch);

 private:
  [[nodiscard]] Answers ask(std::span<const std::size_t> samples, std::optional<std::size_t> epoch);
  void write_cache(const std::filesystem::path& path, const ScoreCacheKey& key,
                   const spmd::Devices& devices, bool is_mine, const ProgressSink& progress);
  void check_cache(const std::filesystem::path& path);

  [[nodiscard]] std::size_t num_scores() const;

  const data::Dataset& data_;
  std::size_t run_;
  std::vector<std::unique_ptr<Teacher>> teachers_;
  std::optional<ScoreCache> cache_;
  std::optional<ScoreMemory> memory_;
};

}  // namespace halftone::train
