// SPDX-License-Identifier: Apache-2.0
// Runs a float model on samples, one block after the other, and measures what its matrices read.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/description.h"
#include "halftone/lm/model/weights.h"
#include "halftone/lm/quantize/samples.h"

namespace halftone::lm {

/// Second moments E[x x'] of the rows x that several matrices multiply.
struct InputMoments {
  std::vector<WeightId> matrices;  ///< experts appear as expert 0; see build_sample_block()
  std::size_t width = 0;           ///< n
  std::vector<float> fit;          ///< [n, n] over the samples to fit
  std::vector<float> held_out;     ///< over the others; empty without them
};

/// Whether something is to be done for a matrix; experts appear as expert 0.
using WantedMatrix = std::function<bool(const WeightId&)>;

/// Holds the rows of all samples at the border of a block, hidden ones and what later blocks read
/// beside them: 4 bytes for each of their numbers, beside the weights of one block as float32 and
/// the values of a few samples. All layers compute with float32; results have the same bits for any
/// number of threads.
class SampleWalk {
 public:
  /// Runs the embedding.
  /// @param description, weights, samples  must outlive this
  /// @throws Error as build_sample_embedding()
  SampleWalk(const Description& description, const Weights& weights, const Samples& samples,
             int threads);

  /// Goes through the next block, and measures the inputs of the matrices that are wanted. Those of
  /// which none is wanted take no time. @pre not all were.
  /// @throws Error as build_sample_block() and compress::SecondMoments::finish()
  std::vector<InputMoments> next_block(const WantedMatrix& wanted);
  /// The same, of all matrices.
  std::vector<InputMoments> next_block();
  /// What the head reads. @pre all blocks were
  InputMoments head();
  /// For each sample the mean of -log p(token | tokens before it) in nats, over every eighth of its
  /// tokens, or more of short samples. A head of many tokens takes longer than all blocks.
  /// @param progress  may be empty
  /// @pre all blocks were
  /// @throws Error as build_sample_logits(); kFormat if a logit is not finite
  std::vector<double> losses(const ProgressSink& progress = {});

  [[nodiscard]] std::size_t blocks_done() const { return block_; }
  /// The rows of a sample, [tokens, width]: those to fit, then those held out. Hidden rows and what
  /// build_sample_block() says.
  [[nodiscard]] std::span<const float> rows(std::size_t sample) const {
    return std::span(rows_).subspan(sample * sample_size_, sample_size_);
  }

 private:
  [[nodiscard]] std::size_t num_samples() const {
    return samples_.fit.size() + samples_.held_out.size();
  }
  [[nodiscard]] const std::vector<TokenId>& sample(std::size_t index) const;
  /// The numbers of a sample in a value of a graph.
  [[nodiscard]] static std::size_t size_of(const ir::Graph& graph, ir::ValueId value);
  std::vector<InputMoments> run(const SamplePart& part, const WantedMatrix& wanted,
                                bool replaces_rows);

  const Description& description_;
  const Weights& weights_;
  const Samples& samples_;
  int threads_;
  std::size_t sample_size_ = 0;
  std::vector<float> rows_;  ///< [samples, tokens, width]
  std::size_t block_ = 0;
};

}  // namespace halftone::lm
