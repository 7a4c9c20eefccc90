// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/move/layout.h"

#include <cstring>
#include <variant>

#include "halftone/ir/strides.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

using Strides = std::vector<std::ptrdiff_t>;

Strides strides_of(const ir::Shape& shape) {
  const auto strides = ir::row_major_strides(shape);
  return {strides.begin(), strides.end()};
}

/// The copies that produce a node's output; one overload per operator.
class Pieces {
 public:
  explicit Pieces(const NodeContext& context)
      : context_(context), bytes_(ir::size_bytes(context.output().encoding.element)) {}

  std::vector<InputCopy> operator()(const ir::Transpose& op) const {
    const Strides own = strides_of(context_.input(0).shape);
    Strides strides;
    for (const std::size_t axis : op.permutation) strides.push_back(own[axis]);
    return {{0, copy_to_rows(output(), strides, bytes_)}};
  }

  std::vector<InputCopy> operator()(const ir::Slice& op) const {
    Strides strides = strides_of(context_.input(0).shape);
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(op.begin) * strides[op.axis];
    strides[op.axis] *= static_cast<std::ptrdiff_t>(op.step);
    StridedCopy copy = copy_to_rows(output(), strides, bytes_);
    copy.src_offset = offset * static_cast<std::ptrdiff_t>(bytes_);
    return {{0, std::move(copy)}};
  }

  std::vector<InputCopy> operator()(const ir::Concat& op) const {
    std::vector<InputCopy> pieces;
    std::ptrdiff_t at = 0;
    for (std::size_t i = 0; i < context_.node.inputs.size(); ++i) {
      const ir::Shape& part = context_.input(i).shape;
      pieces.push_back({i, inside(part, op.axis, at)});
      at += static_cast<std::ptrdiff_t>(part[op.axis]);
    }
    return pieces;
  }

  std::vector<InputCopy> operator()(const ir::BroadcastTo& /*op*/) const {
    const auto strides = ir::broadcast_strides(context_.input(0).shape, output());
    return {{0, copy_to_rows(output(), {strides.begin(), strides.end()}, bytes_)}};
  }

  /// Splits each axis in two: the repeats, with stride 0 in the source, and the extent.
  std::vector<InputCopy> operator()(const ir::Tile& op) const {
    const ir::Shape& x = context_.input(0).shape;
    const Strides own = strides_of(x);
    std::vector<ir::Dim> dims;
    Strides strides;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      dims.push_back(static_cast<ir::Dim>(op.repeats[i]));
      strides.push_back(0);
      dims.push_back(x[i]);
      strides.push_back(own[i]);
    }
    return {{0, copy_to_rows(ir::Shape(std::move(dims)), strides, bytes_)}};
  }

  std::vector<InputCopy> operator()(const ir::Pad& op) const {
    const ir::Shape& x = context_.input(0).shape;
    const Strides to = strides_of(output());
    StridedCopy copy = copy_to_rows(x, strides_of(x), bytes_);
    for (std::size_t i = 0; i < x.rank(); ++i) {
      copy.axes[i].dst_bytes = to[i] * static_cast<std::ptrdiff_t>(bytes_);
      copy.dst_offset += static_cast<std::ptrdiff_t>(op.before[i]) * copy.axes[i].dst_bytes;
    }
    return {{0, std::move(copy)}};
  }

  template <typename Op>
  std::vector<InputCopy> operator()(const Op& /*op*/) const {
    return {};
  }

 private:
  [[nodiscard]] const ir::Shape& output() const { return context_.output().shape; }

  /// A whole input, written from an index along an axis of the output.
  [[nodiscard]] StridedCopy inside(const ir::Shape& part, std::size_t axis,
                                   std::ptrdiff_t at) const {
    const Strides to = strides_of(output());
    StridedCopy copy = copy_to_rows(part, strides_of(part), bytes_);
    const auto bytes = static_cast<std::ptrdiff_t>(bytes_);
    for (std::size_t i = 0; i < part.rank(); ++i) copy.axes[i].dst_bytes = to[i] * bytes;
    copy.dst_offset = at * to[axis] * bytes;
    return copy;
  }

  const NodeContext& context_;
  std::size_t bytes_;
};

/// Fills the output with a value of `bytes` bytes.
void fill(std::byte* output, std::size_t count, const std::byte* value, std::size_t bytes) {
  if (value == nullptr) {
    if (count != 0) std::memset(output, 0, count * bytes);
    return;
  }
  const StridedCopy copy{{{count, 0, static_cast<std::ptrdiff_t>(bytes)}}, bytes, 0, 0};
  run_copy(simplified(copy), value, output, 1);
}

Verdict judge_copy(const NodeContext& context) {
  if (const auto* pad = std::get_if<ir::Pad>(&context.node.op)) {
    if (pad->mode != ir::PadMode::kConstant) return refuse("the padding is not constant");
  }
  return accept("strided copies");
}

Kernel create_copy(const NodeContext& context) {
  std::vector<InputCopy> pieces = input_copies(context);
  for (InputCopy& piece : pieces) piece.copy = simplified(std::move(piece.copy));
  const std::size_t bytes = ir::size_bytes(context.output().encoding.element);
  const std::size_t count = context.output().shape.element_count();
  const bool fills = std::holds_alternative<ir::Pad>(context.node.op);
  const bool has_value = fills && context.has_input(1);
  const std::size_t shares = copy_shares(count * bytes, context.threads);
  Kernel kernel;
  kernel.bind = [=, pieces = std::move(pieces)](const Buffers& buffers) -> Call {
    return [=] {
      if (fills) fill(buffers.output, count, has_value ? buffers.inputs[1] : nullptr, bytes);
      for (const InputCopy& piece : pieces) {
        run_copy(piece.copy, buffers.inputs[piece.input], buffers.output, shares);
      }
    };
  };
  return kernel;
}

}  // namespace

std::vector<InputCopy> input_copies(const NodeContext& context) {
  return std::visit(Pieces(context), context.node.op);
}

constinit const Implementation kStridedCopy{
    .name = "strided_copy", .judge = judge_copy, .create = create_copy};

}  // namespace halftone::runtime
