// SPDX-License-Identifier: Apache-2.0
// Products of computed matrices on a tape.
#include "halftone/gradient/steps.h"

namespace halftone::gradient {
namespace {

/// One operand: a matrix for each index of the batch; vectors count as matrices.
struct Operand {
  std::size_t rows = 1;  ///< as it lies in memory
  std::size_t cols = 1;
  bool transposed = false;
  ir::Shape leading;
  std::vector<std::size_t> offsets;  ///< by matrix of the result
};

/// @param is_row  what a vector counts as
Operand operand(const ir::Shape& shape, bool transposed, bool is_row) {
  Operand result;
  result.transposed = transposed;
  if (shape.rank() == 1) {
    (is_row ? result.cols : result.rows) = static_cast<std::size_t>(shape[0]);
    return result;
  }
  result.rows = static_cast<std::size_t>(shape[shape.rank() - 2]);
  result.cols = static_cast<std::size_t>(shape.back());
  result.leading = ir::Shape(std::vector<ir::Dim>(shape.dims().begin(), shape.dims().end() - 2));
  return result;
}

void find_offsets(Operand& operand, const ir::Shape& batch) {
  operand.offsets = broadcast_indices(operand.leading, batch);
  for (std::size_t& offset : operand.offsets) offset *= operand.rows * operand.cols;
}

/// An operand as a factor, or the transpose of that factor.
kernels::Factor<float> factor(const Operand& operand, const float* data, std::size_t index,
                              bool transpose = false) {
  return {ConstRows(data + operand.offsets[index], operand.rows, operand.cols, operand.cols),
          operand.transposed != transpose};
}

/// The destination of an operand's gradient, in the operand's memory layout.
MutableRows gradient_of(const Operand& operand, float* to, std::size_t index) {
  return {to + operand.offsets[index], operand.rows, operand.cols, operand.cols};
}

/// Adds to the gradients of one product's operands. With y = a b: da = dy b', db = a' dy; of a
/// transposed operand, the transposes.
void matmul_back(const StepContext& context, const Operand& a, const Operand& b, std::size_t i,
                 ConstRows dy) {
  if (const auto da = context.input_gradients[0]; !da.empty()) {
    const float* data = context.inputs[1].data();
    const MutableRows to = gradient_of(a, da.data(), i);
    if (a.transposed) {
      matmul(factor(b, data, i), transposed(dy), to, Update::kAdd);
    } else {
      matmul(dy, factor(b, data, i, true), to, Update::kAdd);
    }
  }
  if (const auto db = context.input_gradients[1]; !db.empty()) {
    const float* data = context.inputs[0].data();
    const MutableRows to = gradient_of(b, db.data(), i);
    if (b.transposed) {
      matmul(transposed(dy), factor(a, data, i), to, Update::kAdd);
    } else {
      matmul(factor(a, data, i, true), dy, to, Update::kAdd);
    }
  }
}

TapeStep matmul_step(const StepContext& context, const ir::MatMul& op) {
  Operand a = operand(context.input_shape(0), op.transpose_a, true);
  Operand b = operand(context.input_shape(1), op.transpose_b, false);
  const ir::Shape batch = ir::broadcast(a.leading, b.leading);
  find_offsets(a, batch);
  find_offsets(b, batch);
  const std::size_t rows = a.transposed ? a.cols : a.rows;
  const std::size_t cols = b.transposed ? b.rows : b.cols;
  return {[=] {
            for (std::size_t i = 0; i < a.offsets.size(); ++i) {
              matmul(factor(a, context.inputs[0].data(), i), factor(b, context.inputs[1].data(), i),
                     MutableRows(context.output.data() + i * rows * cols, rows, cols, cols));
            }
          },
          [=] {
            for (std::size_t i = 0; i < a.offsets.size(); ++i) {
              const float* dy = context.output_gradient.data() + i * rows * cols;
              matmul_back(context, a, b, i, ConstRows(dy, rows, cols, cols));
            }
          }};
}

constexpr StepEntry kMatMulSteps[] = {step_entry<ir::MatMul, matmul_step>()};

}  // namespace

std::span<const StepEntry> matmul_steps() { return kMatMulSteps; }

}  // namespace halftone::gradient
