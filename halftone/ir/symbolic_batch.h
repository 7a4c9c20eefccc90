// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// Makes the leading 1 of every input the batch, if the whole graph then means the same for each
/// sample: reshapes to a leading 1 become reshapes to a leading batch, every type is inferred
/// anew, and no operator mixes samples. Else the graph stays as it is.
/// @return whether the batch is symbolic now
bool try_symbolic_batch(Graph& graph);

}  // namespace halftone::ir
