// SPDX-License-Identifier: Apache-2.0
// Functions of floats, and statistics of rows.
#include "halftone/gpu/choice.h"
#include "halftone/gpu/network/functions.h"
#include "halftone/gpu/network/step_kernel.h"
#include "halftone/gpu/rows.h"
#include "halftone/runtime/statistics/statistics.h"
#include "halftone/runtime/value.h"

namespace halftone::gpu {
namespace {

class RowFunctions {
 public:
  explicit RowFunctions(StepMaker& maker)
      : maker_(maker), x_(maker.context().input(0)), programs_(&maker.programs()) {}

  runtime::DeviceChoice operator()(const ir::Unary& op) const {
    if (!maker_.context().output().is_dense(ir::ElementType::kFloat32)) return refused("no floats");
    if (!function_macro(op.activation)) {
      return refused("no kernel computes " + ir::to_string(op.activation));
    }
    return made([f = op.activation, count = maker_.count()](Programs& programs, const Buffer& x,
                                                            const Buffer& y) {
      return apply_function(programs, f, x, y, count);
    });
  }

  runtime::DeviceChoice operator()(const ir::Softmax& op) const {
    if (op.axis + 1 != x_.shape.rank()) return refused("not over the last axis");
    if (op.beta != 1 || op.log) return refused("it has a factor, or computes the logarithm");
    const ir::MatrixExtent extent = runtime::row_extent(x_.shape);
    return made([extent](Programs& programs, const Buffer& x, const Buffer& y) {
      return softmax(programs, {extent.rows, extent.cols}, x, y);
    });
  }

  runtime::DeviceChoice operator()(const ir::Normalize& op) const {
    const auto view = runtime::joined_axes(x_.shape, op.axes);
    if (!view || view->inner != 1) return refused("not over the last axes");
    const NormShape shape{view->outer, view->extent, op.epsilon, op.subtract_mean};
    return made([shape](Programs& programs, const Buffer& x, const Buffer& y) {
      return normalize(programs, shape, x, y);
    });
  }

  runtime::DeviceChoice operator()(const ir::Reduce& op) const {
    const auto view = runtime::joined_axes(x_.shape, op.axes);
    if (!view) return refused("the axes are not adjacent");
    const bool is_mean = op.kind == ir::ReduceKind::kMean;
    if (!is_mean && op.kind != ir::ReduceKind::kSum) return refused("neither a sum nor a mean");
    const Axis sum{view->outer, view->extent, view->inner, is_mean ? view->extent : 1};
    return made([sum](Programs& programs, const Buffer& x, const Buffer& y) {
      return sum_axis(programs, sum, x, y);
    });
  }

  template <typename Op>
  runtime::DeviceChoice operator()(const Op& /*op*/) const {
    return refused("no kernel computes " + maker_.step().op);
  }

 private:
  /// @param launch  launch(programs, x, y)
  template <typename MakeLaunch>
  runtime::DeviceChoice made(MakeLaunch launch) const {
    return maker_.made([programs = programs_, launch](const StepMemory& memory) {
      return std::vector<Launch>{launch(*programs, *memory.inputs[0], *memory.output)};
    });
  }

  StepMaker& maker_;
  const ir::ValueType& x_;
  Programs* programs_;
};

}  // namespace

runtime::DeviceChoice make_row_function(StepMaker& maker) {
  if (!maker.context().input(0).is_dense(ir::ElementType::kFloat32)) return refused("no floats");
  return std::visit(RowFunctions(maker), maker.context().node.op);
}

}  // namespace halftone::gpu
