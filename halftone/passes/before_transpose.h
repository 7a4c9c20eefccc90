// SPDX-License-Identifier: Apache-2.0
// Operators that may change places with a transpose.
#pragma once

#include <optional>
#include <vector>

#include "halftone/ir/operator.h"

namespace halftone::passes {

/// An operator before a transpose that does what another does behind it.
struct BeforeTranspose {
  ir::Operator op;
  std::vector<std::size_t> after;  ///< the permutation of the transpose that comes behind it
};

/// op(transpose(x)) as transpose(op'(x)), x transposed by `permutation`; none if there is no such
/// operator. Further inputs of the operator are transposed alike, but for scalars.
std::optional<BeforeTranspose> before_transpose(const ir::Operator& op,
                                                const std::vector<std::size_t>& permutation);

}  // namespace halftone::passes
