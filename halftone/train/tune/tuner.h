// SPDX-License-Identifier: Apache-2.0
// A student with tuned numbers and its teacher, and one step of tuning.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/train/learn/named_tensors.h"
#include "halftone/train/learn/optimizer.h"
#include "halftone/train/options/tune_options.h"
#include "halftone/train/tune/open_graph.h"
#include "halftone/train/tune/tuned_numbers.h"

namespace halftone::train {

/// A network of sequences in parts, of which each reads what the one before gives: the first maps
/// "ids", int32 [N, tokens], to rows [N, tokens, d]; others rows to rows; the last rows [N, 1, d]
/// to logits [N, 1, vocabulary].
using SequenceParts = std::vector<ir::Graph>;

/// Token ids of a sample.
using TokenSample = std::vector<std::int32_t>;

/// Computes the loss, the mean over tokens and samples of KL(teacher || student), and its gradients
/// part by part. Memory holds the rows between parts and, for each thread, what one part of one
/// sample needs: parts run a second time for their gradients. Gradients of samples are added in
/// their order, so that threads do not change them.
/// Source: Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016 (arXiv:1604.06174).
class Tuner {
 public:
  /// @param tuned  the constants of the student that are tuned; others stay
  /// @throws Error as OpenGraph and TunedNumbers
  Tuner(const SequenceParts& teacher, const SequenceParts& student, const NamedConstants& tuned,
        const TuneOptions& options);

  using Tensors = std::vector<at::Tensor>;
  /// The teacher's rows of samples before its last part, one each, from which divergence() starts.
  [[nodiscard]] Tensors taught(std::span<const TokenSample> samples) const;
  /// The mean divergence, in nats per token.
  /// @param taught  of these samples
  [[nodiscard]] double divergence(std::span<const TokenSample> samples,
                                  const Tensors& taught) const;
  /// Loss and gradients of a step.
  struct Look {
    double loss = 0;
    Tensors gradients;  ///< of numbers().parameters(); an undefined one is 0
  };
  /// @param samples  of equal length
  Look look_at(std::span<const TokenSample> samples);
  /// Updates the tuned numbers.
  void learn(const Look& look, double rate);

  [[nodiscard]] const TunedNumbers& numbers() const { return numbers_; }
  [[nodiscard]] NamedTensors numbers_state() const { return numbers_.state(); }
  void set_numbers_state(const NamedTensors& state) { numbers_.set_state(state); }
  [[nodiscard]] NamedTensors optimizer_state() const { return optimizer_.state(); }
  void set_optimizer_state(const NamedTensors& state) { optimizer_.set_state(state); }

 private:
  /// The current weights of a part.
  [[nodiscard]] Tensors weights_of(const OpenGraph& part) const;
  /// Rows of all samples that the last part reads, of the teacher or the student.
  /// @param visit  called with the rows that each part reads; may be null
  [[nodiscard]] Tensors rows_of(const std::vector<OpenGraph>& parts,
                                std::span<const TokenSample> samples,
                                const std::function<void(const Tensors& rows)>& visit) const;
  /// What a sample adds to the loss, and gradients.
  struct SampleResult {
    double loss = 0;
    at::Tensor rows;  ///< gradient with respect to the rows
    Tensors weights;  ///< with respect to the tuned weights of the part
  };
  [[nodiscard]] SampleResult compare(const Tensors& weights, const Tensors& teacher_weights,
                                     const at::Tensor& rows, const at::Tensor& teacher_rows,
                                     bool has_gradients) const;
  [[nodiscard]] SampleResult pass_back(const OpenGraph& part, const Tensors& weights,
                                       const at::Tensor& rows, const at::Tensor& gradient) const;
  /// Calls `work` for all samples on several threads, and adds the gradients of weights.
  /// @return  the results, without gradients of weights
  std::vector<SampleResult> for_samples(const OpenGraph& part, std::size_t count,
                                        const std::function<SampleResult(std::size_t)>& work);

  std::vector<OpenGraph> teacher_;
  TunedNumbers numbers_;
  std::vector<OpenGraph> student_;
  Optimizer optimizer_;
};

}  // namespace halftone::train
