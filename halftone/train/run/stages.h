// SPDX-License-Identifier: Apache-2.0
// Training in fewer and fewer bits.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "halftone/compress/recipe.h"
#include "halftone/train/run/trainer.h"

namespace halftone::train {

/// What comes before the bits that are wanted in the end.
struct Stage {
  int bits = 8;
  std::size_t epochs = 1;

  bool operator==(const Stage&) const = default;
};

/// Stages of the texts "BITS:EPOCHS".
/// @throws Error kUsage unless bits are 1 to 8 and fall from stage to stage, and epochs are 1 or
///         more
std::vector<Stage> parse_stages(const std::vector<std::string>& texts);

/// The recipe with at least the stage's bits, wherever it says fewer.
compress::Recipe with_bits_of(const Stage& stage, compress::Recipe recipe);

/// A network in the few bits of a recipe.
using MakeStudent = std::function<ir::Graph(const ir::Graph& network, const compress::Recipe&)>;

/// Trains a network in the bits of each stage and then in those of the recipe; every stage starts
/// from the float numbers that the codes of the one before stand for.
///
/// The epochs of options are those after the stages. The checkpoint of stage i, from 1, has the
/// path of the run's with ".stagei" behind; the history is that of all stages.
/// Source: Zhuang et al., Towards effective low-bitwidth convolutional neural networks, CVPR 2018
/// (arXiv:1711.00205), section 3.3. Differs: weights and activations go down together.
/// @throws Error as train()
TrainResult train_in_stages(ir::Graph network, const std::vector<Stage>& stages,
                            const compress::Recipe& recipe, const MakeStudent& make_student,
                            const std::vector<ir::Graph>& teachers, const data::Dataset& data,
                            const StudentOptions& student_options, const TrainOptions& options);

}  // namespace halftone::train
