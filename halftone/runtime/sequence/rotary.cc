// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/attention/rotary.h"

#include "halftone/runtime/sequence/sequence.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Rotary positions; the rows of each sample have the same positions.
struct Rotation {
  kernels::RotaryShape shape;
  ir::MatrixExtent rows;
  std::size_t positions = 0;
  ir::MatrixExtent tables;

  void run(const Buffers& buffers) const {
    const std::span<const std::int32_t> places(
        reinterpret_cast<const std::int32_t*>(buffers.inputs[1]), positions);
    kernels::require_positions(places, tables.rows);
    const kernels::RotaryTables angles{float_matrix(buffers.inputs[2], tables),
                                       float_matrix(buffers.inputs[3], tables)};
    for (std::size_t first = 0; first < rows.rows; first += positions) {
      const std::size_t offset = first * rows.cols * sizeof(float);
      kernels::rotate(shape, float_matrix(buffers.inputs[0] + offset, {positions, rows.cols}),
                      places, angles,
                      float_matrix(buffers.output + offset, {positions, rows.cols}));
    }
  }
};

Verdict judge_rotary(const NodeContext& context) {
  if (context.output().shape.element_count() == 0) return refuse("nothing to turn");
  return accept("pairs of each head");
}

Kernel create_rotary(const NodeContext& context) {
  const auto& op = context.op<ir::Rotary>();
  const bool halves = op.pairing == ir::RotaryPairing::kNeox;
  const Rotation rotation{
      {op.heads, op.dims,
       halves ? kernels::RotaryPairing::kNeox : kernels::RotaryPairing::kInterleaved},
      row_extent(context.input(0).shape),
      context.input(1).shape.element_count(),
      row_extent(context.input(2).shape)};
  Kernel kernel;
  kernel.bind = [rotation](const Buffers& buffers) -> Call {
    return [rotation, buffers] { rotation.run(buffers); };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kRotateRows{
    .name = "rotate_rows", .judge = judge_rotary, .create = create_rotary};

}  // namespace halftone::runtime
