// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::lm {

/// A language model as two graphs. Tokens are the batch of both.
///
/// The body maps "ids", "slots" and "positions", int32 [N], to hidden rows, output 0, float32
/// [N, d]. Its states hold what earlier tokens left: those that attention reads [sequences,
/// context, width], those of recurrences [sequences, ...]. Rows of one run may belong to several
/// sequences, those of one in their order. The head maps hidden rows to logits [N, vocabulary].
struct DecoderGraphs {
  ir::Graph body;
  ir::Graph head;
};

}  // namespace halftone::lm
