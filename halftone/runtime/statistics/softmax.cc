// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "halftone/base/elementary.h"
#include "halftone/kernels/activation/activation.h"
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

/// Powers of e by the distance of a code from the largest of its row.
using Powers = std::array<float, ir::Lookup::kCodes>;

Powers powers_of(float beta) {
  Powers powers{};
  for (std::size_t d = 0; d < powers.size(); ++d) {
    powers[d] = static_cast<float>(elementary::exp(-beta * static_cast<float>(d)));
  }
  return powers;
}

template <typename Code>
void softmax_of_row(const Powers& powers, std::span<const Code> q, float* y) {
  const Code largest = *std::ranges::max_element(q);
  const auto power = [&](Code code) { return powers[static_cast<std::size_t>(largest - code)]; };
  float sum = 0;
  for (const Code code : q) sum += power(code);
  const float factor = 1 / sum;
  std::ranges::transform(q, y, [&](Code code) { return power(code) * factor; });
}

template <typename Code>
Call softmax_of_codes(const Powers& powers, ir::MatrixExtent extent, const Buffers& buffers) {
  const auto* q = reinterpret_cast<const Code*>(buffers.inputs[0]);
  auto* y = reinterpret_cast<float*>(buffers.output);
  return [powers, extent, q, y] {
    for (std::size_t at = 0; at < extent.rows * extent.cols; at += extent.cols) {
      softmax_of_row<Code>(powers, {q + at, extent.cols}, y + at);
    }
  };
}

Verdict judge_softmax_codes(const NodeContext& context) {
  const auto& op = context.op<ir::Softmax>();
  if (!ir::are_codes(context.input(0))) return refuse("the input is not codes of 8 bits");
  if (op.axis + 1 != context.input(0).shape.rank()) return refuse("not over the last axis");
  if (context.output().shape.element_count() == 0) return refuse("there is nothing to compute");
  return accept("a table of 256 powers");
}

Kernel create_softmax_codes(const NodeContext& context) {
  const ir::MatrixExtent extent = row_extent(context.input(0).shape);
  const bool is_signed = context.input(0).is_dense(ir::ElementType::kInt8);
  Kernel kernel;
  kernel.bind = [extent, is_signed,
                 powers = powers_of(context.op<ir::Softmax>().beta)](const Buffers& buffers) {
    return is_signed ? softmax_of_codes<std::int8_t>(powers, extent, buffers)
                     : softmax_of_codes<std::uint8_t>(powers, extent, buffers);
  };
  return kernel;
}

}  // namespace

constinit const Implementation kSoftmaxCodes{
    .name = "table", .judge = judge_softmax_codes, .create = create_softmax_codes};
constinit const Implementation kSoftmaxRows{
    .name = "vector_f32", .judge = judge_softmax_rows, .create = create_softmax_rows};

}  // namespace halftone::runtime
