// SPDX-License-Identifier: Apache-2.0
// The samples on which a network is worst. Private to this folder.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "halftone/api/model_report.h"

namespace halftone {

/// Whether the first output of a network are probabilities: those of a softmax.
bool gives_probabilities(const ir::Graph& graph);

/// Ranks the samples of an evaluation.
class SampleRanking {
 public:
  struct Options {
    bool has_reference = false;
    bool gives_probabilities = false;            ///< see gives_probabilities()
    bool reference_gives_probabilities = false;  ///< likewise
  };
  /// @param data  must outlive this
  SampleRanking(const data::Dataset& data, const Options& options);

  /// For EvaluateOptions::visit; safe for several threads, once for each sample.
  void add(std::size_t sample, std::span<const float> scores, std::span<const float> reference);

  [[nodiscard]] SampleMeasure measure() const { return measure_; }
  /// The mean divergence; nothing if that is not the measure.
  [[nodiscard]] std::optional<double> divergence() const;
  /// The worst samples first; among equal ones the first of the data set.
  /// @throws Error as data::Dataset::read() of pictures
  [[nodiscard]] std::vector<SampleFigures> worst(std::size_t count) const;

 private:
  [[nodiscard]] double badness(std::size_t sample, std::span<const float> scores,
                               std::span<const float> reference) const;

  const data::Dataset& data_;
  Options options_;
  SampleMeasure measure_;
  std::vector<SampleFigures> samples_;
};

/// The first input of a sample as a picture of at most 64 pixels a side, if it is an image; larger
/// ones are reduced by a whole factor. Pixels of uint8 stay as they are; floats are scaled so that
/// the sample spans black to white.
std::optional<SamplePicture> picture_of(const data::Dataset& data, std::size_t sample);

}  // namespace halftone
