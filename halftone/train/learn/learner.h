// SPDX-License-Identifier: Apache-2.0
// A student, those who teach it, and what they do with a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/spmd/array.h"
#include "halftone/train/learn/named_tensors.h"
#include "halftone/train/learn/optimizer.h"
#include "halftone/train/run/train_options.h"
#include "halftone/train/samples/batches.h"
#include "halftone/train/student/student.h"
#include "halftone/train/teacher/teachers.h"

namespace halftone::train {

/// What a batch comes to: the sum of what its parts come to, of which it is a tree of arrays.
struct BatchResult {
  std::vector<spmd::Array> gradients;   ///< float32, one per parameter of the student
  std::vector<spmd::Array> statistics;  ///< float64, as Student::Pass has them
  spmd::Array tally;  ///< float64 [3] mean loss, answers that agree, requests to stop

  static auto members(auto& self) { return std::tie(self.gradients, self.statistics, self.tally); }

  [[nodiscard]] double loss() const { return tally.as<double>()[0]; }
  [[nodiscard]] double num_agreed() const { return tally.as<double>()[1]; }
  [[nodiscard]] bool stops() const { return tally.as<double>()[2] > 0; }
};

/// Takes batches in parts, each a lane of a spmd::spread() on one thread, so that what comes of
/// them does not depend on devices and ranks.
class Learner {
 public:
  /// @param options  checked, with devices; must outlive it, as must the data
  /// @throws Error as train()
  Learner(const ir::Graph& student, const ir::Graph* original,
          const std::vector<ir::Graph>& teachers, const data::Dataset& data,
          const StudentOptions& student_options, const TrainOptions& options);

  [[nodiscard]] const Batches& batches() const { return batches_; }
  [[nodiscard]] std::size_t num_layers() const { return student_.num_layers(); }
  [[nodiscard]] std::int64_t num_classes() const;

  /// Lets the student start where its normalisation changes nothing, for these batches.
  /// @param samples  a multiple of the batch
  void start(std::span<const std::size_t> samples);
  /// Loss and gradients of a batch; nothing moves.
  BatchResult look_at(std::span<const std::size_t> batch, std::size_t epoch, std::size_t step);
  /// Moves all but the first, frozen layers.
  void learn(const BatchResult& result, double rate);
  void freeze(std::size_t num_layers) { student_.freeze(num_layers); }
  /// The share of samples, as they are, with the right answer: the label's or, without labels, the
  /// teachers'.
  double validation_accuracy(std::span<const std::size_t> samples);

  [[nodiscard]] const Student& student() const { return student_; }
  [[nodiscard]] NamedTensors student_state() const { return student_.state(); }
  void set_student_state(const NamedTensors& state) { student_.set_state(state); }
  [[nodiscard]] NamedTensors optimizer_state() const { return optimizer_.state(); }
  void set_optimizer_state(const NamedTensors& state) { optimizer_.set_state(state); }
  /// The student's graph, with the outputs that it came with.
  [[nodiscard]] ir::Graph graph() const;

 private:
  [[nodiscard]] std::size_t part_samples() const { return options_.batch / options_.parts; }
  BatchResult look_at_part(std::span<const std::size_t> samples, std::size_t epoch,
                           std::uint64_t seed);
  [[nodiscard]] at::Tensor taught(const Answers& answers) const;
  std::int64_t num_right(std::span<const std::size_t> samples);
  void check_classes() const;

  const TrainOptions& options_;
  std::size_t num_outputs_;  ///< that the student came with; features and scores follow
  FeatureValues features_;
  Student student_;
  Batches batches_;
  std::optional<Teachers> teachers_;
  Optimizer optimizer_;
};

}  // namespace halftone::train
