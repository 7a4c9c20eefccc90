// SPDX-License-Identifier: Apache-2.0
// How much worse the outputs of a network are than those of its reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "halftone/base/random.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone::compress {

enum class LossKind : std::uint8_t {
  /// Kullback-Leibler divergence of the predicted probabilities from those of the reference, in
  /// nats per sample.
  kDivergence,
  kError,   ///< squared error of the scores, relative to the squares of the reference's
  kLabels,  ///< cross entropy with the labels above that of the reference, in nats per sample
};

/// "kl", "error", "labels".
std::string_view to_string(LossKind kind);
/// @throws Error kUsage that lists the names
LossKind loss_named(std::string_view name);
/// kDivergence if a network is a classifier: its first output has a row of scores for each sample,
/// and the data have labels or the row comes from a Softmax. Else kError.
LossKind default_loss(const ir::Graph& graph, const data::Dataset& data);

/// Elements per sample of a network's first output.
/// @param fixed_batch  samples per run if the network has no symbolic batch
/// @param what         the network, in messages
/// @throws Error kShape unless these are float32 scores for every sample
std::size_t scores_per_sample(const ir::Graph& graph, std::size_t fixed_batch,
                              const std::string& what);

/// A sum over samples. The loss of all is loss / weight.
struct LossSum {
  double loss = 0;
  double weight = 0;
};

/// The loss of the first output of a network, sample by sample. The last axis of the output holds
/// the scores of classes: logits, or probabilities if a Softmax computes them, also one whose
/// result is rounded to integers. Probabilities below the least normal float32 count as that,
/// rounded ones below half a step as half a step. Same bits on every processor.
class OutputLoss {
 public:
  /// @param graph   the reference
  /// @param scores  scores_per_sample(); samples of other sizes may have others
  /// @throws Error kUsage if the data lack labels for kLabels; kShape if kDivergence or kLabels
  ///         find less than two classes
  OutputLoss(const ir::Graph& graph, const data::Dataset& data, LossKind kind, std::size_t scores);

  /// Takes scores of a network that may round its probabilities to integers: those below half a
  /// step count as half a step, in both networks.
  void allow_rounding_of(const ir::Graph& network);

  [[nodiscard]] LossKind kind() const { return kind_; }
  [[nodiscard]] std::size_t num_scores() const { return scores_; }

  /// The loss of one sample; its weight is the number of rows of scores, for kError the sum of
  /// squares of the reference.
  /// @throws Error kFormat if a label is no class
  [[nodiscard]] LossSum of(std::size_t sample, std::span<const float> reference,
                           std::span<const float> scores) const;

  /// 1 if the reference has the right class and the scores have another one, -1 if it is the other
  /// way round, else 0. Without labels, the class of the reference is the right one.
  /// @throws Error kFormat if a label is no class
  [[nodiscard]] int answers_lost(std::size_t sample, std::span<const float> reference,
                                 std::span<const float> scores) const;

  /// A random gradient g of the scores whose mean square measures small changes d of them: over
  /// many draws, curvature() mean((g d)^2) is the loss that d causes, to second order. With random
  /// signs v and the reference's probabilities p, g is sqrt(p) (v - sqrt(p) sum(sqrt(p) v)) for
  /// logits, which gives the Fisher information diag(p) - p p', v / sqrt(p) for probabilities, and
  /// v for kError.
  /// @param gradient  as many as scores of the reference
  void draw_gradient(std::span<const float> reference, Random& random,
                     std::span<float> gradient) const;
  /// 1/2 for classes, 1 for kError.
  [[nodiscard]] double curvature() const { return kind_ == LossKind::kError ? 1 : 0.5; }

 private:
  void log_probabilities(std::span<const float> scores, std::span<double> result) const;
  [[nodiscard]] std::size_t label(std::size_t sample) const;

  const data::Dataset& data_;
  LossKind kind_;
  std::size_t scores_;
  std::size_t classes_;
  std::optional<double> least_probability_;  ///< that counts; nullopt: the scores are logits
};

}  // namespace halftone::compress
