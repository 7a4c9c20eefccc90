// SPDX-License-Identifier: Apache-2.0
// The steps that make_step() creates, in a table per family of operators; values as matrices.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/gradient/tape.h"
#include "halftone/ir/operator_table.h"
#include "halftone/kernels/dense/matmul.h"

namespace halftone::gradient {

using ConstRows = MatrixView<const float>;
using MutableRows = MatrixView<float>;
using kernels::matmul;
using kernels::transposed;
using kernels::Update;

/// @throws Error kUnsupported "WHAT has no gradient"
[[noreturn]] void fail_gradient(const std::string& what);

/// For each element of a result, the index of the operand's element that it reads.
/// @pre the operand broadcasts to the result, both static
std::vector<std::size_t> broadcast_indices(const ir::Shape& operand, const ir::Shape& result);

/// y = f(x), element by element.
void apply_to(const ir::Activation& f, std::span<const float> x, std::span<float> y);
/// dx += dy f'(x), element by element.
void add_slopes(const ir::Activation& f, std::span<const float> x, std::span<const float> dy,
                std::span<float> dx);

/// An input of a node in the type that its operator takes.
ir::Tensor typed_input(const StepContext& context, std::size_t i);

/// Computes the output with the reference implementation; has no gradient.
TapeStep definition_step(const StepContext& context);

/// An Encode whose levels are learned.
TapeStep encode_step(const StepContext& context);
/// An operator that copies elements: see ir::copies_elements().
TapeStep move_step(const StepContext& context);

using StepMaker = TapeStep (*)(const StepContext& context);
using StepEntry = ir::OperatorEntry<StepMaker>;

/// The entry of an operator in the table of its family.
/// @tparam make  throws Error kUnsupported if it rejects the attributes
template <typename Op, TapeStep (*make)(const StepContext& context, const Op& op)>
constexpr StepEntry step_entry() {
  return {ir::operator_index<Op>(),
          [](const StepContext& context) { return make(context, std::get<Op>(context.node.op)); }};
}

/// With broadcasting. Booleans and integers have no gradient, see Tape.
std::span<const StepEntry> elementwise_steps();
std::span<const StepEntry> expert_steps();
std::span<const StepEntry> layer_steps();
std::span<const StepEntry> matmul_steps();
std::span<const StepEntry> normalize_steps();
/// Rejects averages that count padding, and windows that reach past the padding.
std::span<const StepEntry> pool_steps();
/// Backpropagation through time. Codes of states represent their levels and pass gradients straight
/// through. Rejects sequences with individual lengths.
/// Source: Werbos, Backpropagation Through Time, Proc. IEEE 78(10), 1990.
std::span<const StepEntry> recurrent_steps();
/// Rejects products.
std::span<const StepEntry> reduce_steps();
/// Rounding to a number system: passes gradients straight through.
std::span<const StepEntry> rounding_steps();
/// Rejects an Attention with states.
std::span<const StepEntry> sequence_steps();

}  // namespace halftone::gradient
