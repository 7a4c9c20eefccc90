// SPDX-License-Identifier: Apache-2.0
// A network that teaches a student.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/train/samples/batches.h"

namespace halftone::train {

/// The outputs of teachers for some samples.
struct Answers {
  at::Tensor scores;                 ///< float32 [samples, scores]
  std::vector<at::Tensor> features;  ///< float32 [samples, ...], one per requested value
};

/// Computes the scores of a network with the runtime, one run for each part of a batch. Several
/// threads may use it at once. The bits of an answer depend on the size of a run, not on the other
/// samples in it.
class Teacher {
 public:
  /// @param student   the student's samples; the teacher reads the same samples in the shapes of
  ///                  its own inputs. Their data must outlive this.
  /// @param run       number of samples in a run
  /// @param features  values of the graph to return
  /// @throws Error as with_scores(), Batches::seen_by() and runtime::make_plan(); kUnsupported if
  ///         an input is not float32 or the batch is fixed
  Teacher(const ir::Graph& graph, const Batches& student, std::size_t run,
          std::span<const ir::ValueId> features = {});

  /// [N, ..., classes]
  [[nodiscard]] const ir::Shape& scores() const { return scores_; }

  /// @param samples  at most a run
  /// @param epoch    of the augmentation; none: samples are not augmented
  [[nodiscard]] Answers answer(std::span<const std::size_t> samples,
                               std::optional<std::size_t> epoch);

 private:
  std::unique_ptr<runtime::Session> take();
  void give_back(std::unique_ptr<runtime::Session> session);

  Batches batches_;
  ir::Shape scores_;
  std::shared_ptr<const runtime::Plan> plan_;  // shared by the sessions that run it
  std::mutex mutex_;
  std::vector<std::unique_ptr<runtime::Session>> free_;
};

}  // namespace halftone::train
