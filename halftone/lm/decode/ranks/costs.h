// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halftone/lm/generate/token_model.h"
#include "halftone/lm/model/decoder_graphs.h"

namespace halftone::lm {

/// How some ranks would share the steps of one token.
RankCosts costs_on_ranks(const DecoderGraphs& graphs, std::size_t ranks);

}  // namespace halftone::lm
