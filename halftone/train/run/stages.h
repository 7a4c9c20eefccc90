// SPDX-License-Identifier: Apache-2.0
// Training in stages of decreasing bit width.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "halftone/compress/recipe.h"
#include "halftone/train/options/train_options.h"
#include "halftone/train/run/trainer.h"

namespace halftone::train {

/// The recipe with smaller bit widths raised to the stage's bits.
compress::Recipe with_bits_of(const Stage& stage, compress::Recipe recipe);

/// Quantizes a network by a recipe.
using MakeStudent = std::function<ir::Graph(const ir::Graph& network, const compress::Recipe&)>;

/// The students of a run in stages. Refers to its parts.
struct StagedStudent {
  const std::vector<Stage>& stages;  ///< before the recipe's own bits
  const compress::Recipe& recipe;
  const MakeStudent& make;
};

/// Trains a network in the bits of each stage and then in those of the recipe; each stage starts
/// from the float weights behind the codes of the previous one.
///
/// The epochs in `options` are those after the stages. The checkpoint of stage i, from 1, has the
/// run's path with ".stagei" appended; the history covers all stages.
/// Source: Zhuang et al., Towards effective low-bitwidth convolutional neural networks, CVPR 2018
/// (arXiv:1711.00205), section 3.3. Differs: bits of weights and activations decrease together.
/// @throws Error as train()
TrainedGraph train_in_stages(ir::Graph network, const StagedStudent& student,
                             const TrainingData& data, const StudentOptions& student_options,
                             const LearnOptions& options);

}  // namespace halftone::train
