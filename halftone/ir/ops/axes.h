// SPDX-License-Identifier: Apache-2.0
// The axes of an operator's input, as its attributes name them: which the operator works along, and
// how they change when the input is transposed. Both follow from traits and from the names of the
// attributes (axis, axes, ...), so that most new operators need no line here.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/ir/operator.h"

namespace halftone::ir {

/// The axes of input 0 along which an output depends on other indices than its own, in ascending
/// order. The operators that reshape, transpose or look up by coordinates have none: their outputs
/// have other axes.
/// @param rank  of input 0
std::vector<std::size_t> mixed_axes(const Operator& op, std::size_t rank);

/// An operator before a transpose that does what another does after it.
struct BeforeTranspose {
  Operator op;
  std::vector<std::size_t> after;  ///< the permutation of the transpose that follows
};

/// op(transpose(x)) as transpose(op'(x)), with x transposed by `permutation`. Further inputs are
/// transposed in the same way, except scalars.
/// @return nothing unless the operator aligns axes: see AxisMap; nor where blocks of a FakeQuantize
///         would be others
std::optional<BeforeTranspose> before_transpose(const Operator& op,
                                                const std::vector<std::size_t>& permutation);

}  // namespace halftone::ir
