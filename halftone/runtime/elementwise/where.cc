// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <vector>

#include "halftone/ir/strides.h"
#include "halftone/runtime/elementwise/elementwise.h"

namespace halftone::runtime {
namespace {

/// An axis of the result, and its stride in each operand.
struct ChoiceAxis {
  std::size_t count = 1;
  std::array<std::size_t, 3> steps{};
};

/// The axes of the result, at least one; merges axes that are contiguous in all operands.
std::vector<ChoiceAxis> choice_axes(const NodeContext& context) {
  const ir::Shape& shape = context.output().shape;
  std::vector<ChoiceAxis> axes;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    ChoiceAxis axis{static_cast<std::size_t>(shape[i]), {}};
    for (std::size_t k = 0; k < 3; ++k) {
      axis.steps[k] = ir::broadcast_strides(context.input(k).shape, shape)[i];
    }
    if (axis.count == 1) continue;
    bool continues = !axes.empty();
    for (std::size_t k = 0; k < 3 && continues; ++k) {
      continues = axes.back().steps[k] == axis.steps[k] * axis.count;
    }
    if (continues) axis.count *= axes.back().count;
    if (continues) axes.pop_back();
    axes.push_back(axis);
  }
  if (axes.empty()) axes.emplace_back();
  return axes;
}

template <typename T>
struct Operands {
  const std::uint8_t* condition;
  const T* a;
  const T* b;

  [[nodiscard]] Operands at(const ChoiceAxis& axis, std::size_t i) const {
    return {condition + i * axis.steps[0], a + i * axis.steps[1], b + i * axis.steps[2]};
  }
};

/// Processes the axes from `first` on; returns the end of the output. The last axis has steps 0 or
/// 1.
template <typename T>
T* choose(const std::vector<ChoiceAxis>& axes, std::size_t first, const Operands<T>& operands,
          T* y) {
  const ChoiceAxis& axis = axes[first];
  if (first + 1 == axes.size()) {
    for (std::size_t i = 0; i < axis.count; ++i) {
      const Operands<T> here = operands.at(axis, i);
      y[i] = *here.condition != 0 ? *here.a : *here.b;
    }
    return y + axis.count;
  }
  for (std::size_t i = 0; i < axis.count; ++i) {
    y = choose(axes, first + 1, operands.at(axis, i), y);
  }
  return y;
}

template <typename T>
Call bind_choice(const std::vector<ChoiceAxis>& axes, const Buffers& buffers) {
  const Operands<T> operands{reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]),
                             reinterpret_cast<const T*>(buffers.inputs[1]),
                             reinterpret_cast<const T*>(buffers.inputs[2])};
  auto* y = reinterpret_cast<T*>(buffers.output);
  return [axes, operands, y] { choose<T>(axes, 0, operands, y); };
}

Verdict judge_where(const NodeContext& context) {
  if (context.output().shape.element_count() == 0) return refuse("there is nothing to compute");
  return accept("row by row");
}

Kernel create_where(const NodeContext& context) {
  Kernel kernel;
  const std::size_t bytes = ir::size_bytes(context.output().encoding.element);
  kernel.bind = [axes = choice_axes(context), bytes](const Buffers& buffers) -> Call {
    switch (bytes) {
      case 1:
        return bind_choice<std::uint8_t>(axes, buffers);
      case 2:
        return bind_choice<std::uint16_t>(axes, buffers);
      case 4:
        return bind_choice<std::uint32_t>(axes, buffers);
      default:
        return bind_choice<std::uint64_t>(axes, buffers);
    }
  };
  return kernel;
}

}  // namespace

constinit const Implementation kWhereRows{
    .name = "rows", .judge = judge_where, .create = create_where};

}  // namespace halftone::runtime
