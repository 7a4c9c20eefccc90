// SPDX-License-Identifier: Apache-2.0
// Measures how well a network answers.
#pragma once

#include "halftone/api/network.h"
#include "halftone/compress/evaluate.h"

namespace halftone {

/// Accuracy of a classifier on labelled samples, and its agreement with a reference network.
/// Integer inputs and outputs become float32, so that both networks run on the same samples.
/// @param reference  may be null if there are labels
/// @param options    its names are those of the networks
/// @throws Error as prepared() and compress::evaluate()
compress::Evaluation evaluate(const Network& network, const data::Dataset& data,
                              const Network* reference = nullptr,
                              compress::EvaluateSettings options = {});

}  // namespace halftone
