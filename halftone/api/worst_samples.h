// SPDX-License-Identifier: Apache-2.0
// The samples on which a network is worst. Private to this folder.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "halftone/api/model_report.h"
#include "halftone/compress/output_loss.h"

namespace halftone {

/// Whether the first output of a network are probabilities: those of a softmax.
bool gives_probabilities(const ir::Graph& graph);

/// Ranks the samples of an evaluation.
class SampleRanking {
 public:
  /// @param data       must outlive this
  /// @param graph      of the network that is evaluated
  /// @param reference  null: there is none, and samples are ranked by their labels
  /// @throws Error as compress::scores_per_sample() and compress::make_feed()
  SampleRanking(const data::Dataset& data, const ir::Graph& graph, const ir::Graph* reference);

  /// For EvaluateOptions::visit; safe for several threads, once for each sample.
  void add(std::size_t sample, std::span<const float> scores, std::span<const float> reference);

  [[nodiscard]] SampleMeasure measure() const;
  /// The worst samples first; among equal ones the first of the data set.
  /// @throws Error as data::Dataset::read() of pictures
  [[nodiscard]] std::vector<SampleFigures> worst(std::size_t count) const;
  /// Labels and answers of all samples; nothing without labels.
  [[nodiscard]] std::optional<Confusion> confusion() const;

 private:
  const data::Dataset& data_;
  bool gives_probabilities_;
  std::optional<compress::OutputLoss> loss_;  ///< relative to the reference, if there is one
  std::vector<SampleFigures> samples_;
};

/// The first input of a sample as a picture of at most 64 pixels a side, if it is an image; larger
/// ones are reduced by a whole factor. Pixels of uint8 stay as they are; floats are scaled so that
/// the sample spans black to white.
std::optional<SamplePicture> picture_of(const data::Dataset& data, std::size_t sample);

}  // namespace halftone
