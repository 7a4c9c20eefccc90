// SPDX-License-Identifier: Apache-2.0
// A student with its teachers, and one training step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/spmd/array.hpp"
#include "halftone/train/learn/distillation_loss.h"
#include "halftone/train/learn/named_tensors.h"
#include "halftone/train/learn/optimizer.h"
#include "halftone/train/learn/training_data.h"
#include "halftone/train/options/train_options.h"
#include "halftone/train/samples/batches.h"
#include "halftone/train/student/student.h"
#include "halftone/train/teacher/features.h"
#include "halftone/train/teacher/teachers.h"

namespace halftone::train {

/// The result of a batch: the sum of the results of its parts, a tree of arrays.
struct BatchResult {
  std::vector<spmd::Array> gradients;   ///< float32, one per parameter of the student
  std::vector<spmd::Array> statistics;  ///< float64, as in Student::Pass
  spmd::Array tally;                    ///< float64 [2]: mean loss, number of agreeing answers
  bool stops = false;  ///< whether a rank is asked to stop; of the whole batch only

  static auto members(auto& self) { return std::tie(self.gradients, self.statistics, self.tally); }

  [[nodiscard]] double loss() const { return tally.as<double>()[0]; }
  [[nodiscard]] double num_agreed() const { return tally.as<double>()[1]; }
};

/// Processes each batch in parts. A part is a lane of a spmd::spread() on one thread, so that
/// results do not depend on the number of devices and ranks.
class Learner {
 public:
  /// @param options  checked, with devices; options and data must outlive the learner
  /// @throws Error as train()
  Learner(const ir::Graph& student, const ir::Graph* original, const TrainingData& data,
          const StudentOptions& student_options, const LearnOptions& options);

  [[nodiscard]] const Batches& batches() const { return batches_; }
  [[nodiscard]] std::size_t num_layers() const { return student_.num_layers(); }
  /// [N, ..., classes]
  [[nodiscard]] const ir::Shape& scores() const;
  /// Whether a label says which of the scores of a sample is right.
  [[nodiscard]] bool takes_labels() const;

  /// Initialises the student's normalisation so that it changes nothing on these batches.
  /// @param samples  a multiple of the batch
  void start(std::span<const std::size_t> samples);
  /// Loss and gradients of a batch; changes no parameter.
  BatchResult look_at(std::span<const std::size_t> batch, std::size_t epoch, std::size_t step);
  /// Updates all layers except the frozen ones.
  void learn(const BatchResult& result, double rate);
  void freeze(std::size_t num_layers) { student_.freeze(num_layers); }
  /// The share of samples, without augmentation, that are classified correctly according to their
  /// labels or, without labels, to the teachers.
  double validation_accuracy(std::span<const std::size_t> samples);

  [[nodiscard]] const Student& student() const { return student_; }
  [[nodiscard]] NamedTensors student_state() const { return student_.state(); }
  void set_student_state(const NamedTensors& state) { student_.set_state(state); }
  [[nodiscard]] NamedTensors optimizer_state() const { return optimizer_.state(); }
  void set_optimizer_state(const NamedTensors& state) { optimizer_.set_state(state); }
  /// The student's graph, with its original outputs.
  [[nodiscard]] ir::Graph graph() const;

 private:
  [[nodiscard]] std::size_t part_samples() const { return options_.batch / options_.parts; }
  BatchResult look_at_part(std::span<const std::size_t> samples, std::size_t epoch,
                           std::uint64_t seed);
  [[nodiscard]] bool is_any_rank_asked(bool is_asked) const;
  [[nodiscard]] at::Tensor loss_of(const at::Tensor& scores, const at::Tensor& teachers,
                                   const at::Tensor& labels) const;
  [[nodiscard]] double num_agreed(const at::Tensor& scores, const at::Tensor& teachers,
                                  const at::Tensor& labels) const;
  [[nodiscard]] at::Tensor rows_of_classes(const at::Tensor& scores) const;
  [[nodiscard]] at::Tensor taught(const at::Tensor& teachers) const;
  double num_right(std::span<const std::size_t> samples);
  void check_scores() const;

  const LearnOptions& options_;
  std::size_t num_outputs_;  ///< original outputs of the student; features and scores follow
  FeatureValues features_;
  Student student_;
  Batches batches_;
  ScoreExtents extents_;
  bool is_regression_ = false;  ///< see LossKind
  std::optional<Teachers> teachers_;
  Optimizer optimizer_;
};

}  // namespace halftone::train
