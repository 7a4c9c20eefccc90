// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/activation/softmax.h"

#include "halftone/runtime/statistics/statistics.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

Verdict judge_softmax_rows(const NodeContext& context) {
  const auto& op = context.op<ir::Softmax>();
  if (!context.input(0).is_dense(ir::ElementType::kFloat32))
    return refuse("the input is not float32");
  if (op.axis + 1 != context.input(0).shape.rank()) return refuse("not over the last axis");
  if (op.log) return refuse("it computes the logarithm");
  if (op.beta != 1) return refuse("beta is not 1");
  return accept("over the last axis");
}

Kernel create_softmax_rows(const NodeContext& context) {
  const ir::MatrixExtent extent = row_extent(context.input(0).shape);
  Kernel kernel;
  kernel.bind = [extent](const Buffers& buffers) -> Call {
    const auto x = float_matrix(buffers.inputs[0], extent);
    const auto y = float_matrix(buffers.output, extent);
    return [x, y] { kernels::softmax(x, y); };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kSoftmaxRows{
    .name = "vector_f32", .judge = judge_softmax_rows, .create = create_softmax_rows};

}  // namespace halftone::runtime
