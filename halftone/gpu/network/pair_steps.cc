// SPDX-License-Identifier: Apache-2.0
// Functions of two operands, and copies.
#include <algorithm>
#include <cstring>

#include "halftone/gpu/network/functions.h"
#include "halftone/gpu/network/requantizing.h"
#include "halftone/gpu/texts.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/move/layout.h"

namespace halftone::gpu {
namespace {

/// Axes for text/pairs.cl, the last one first.
struct Axes {
  std::vector<std::int32_t> numbers;  ///< of each axis: count, two steps

  void add(std::size_t count, std::ptrdiff_t a, std::ptrdiff_t b) {
    number(count);
    for (const std::ptrdiff_t each : {static_cast<std::ptrdiff_t>(count), a, b}) {
      numbers.push_back(static_cast<std::int32_t>(each));
    }
  }
  [[nodiscard]] std::uint32_t count() const { return number(numbers.size() / 3); }
};

Axes broadcast_axes_of(const runtime::NodeContext& context) {
  const runtime::Broadcast shape = runtime::find_broadcast(context);
  const auto step = [](std::size_t each) { return static_cast<std::ptrdiff_t>(each); };
  Axes axes;
  axes.add(shape.rows.cols, step(shape.rows.a.step), step(shape.rows.b.step));
  axes.add(shape.rows.rows, step(shape.rows.a.row_step), step(shape.rows.b.row_step));
  for (auto axis = shape.outer.rbegin(); axis != shape.outer.rend(); ++axis) {
    axes.add(axis->count, step(axis->a), step(axis->b));
  }
  return axes;
}

/// OPERATION(a, b); empty if there is none.
std::string operation_macro(ir::BinaryKind kind) {
  using enum ir::BinaryKind;
  constexpr std::pair<ir::BinaryKind, const char*> kBodies[] = {
      {kAdd, "((a) + (b))"},
      {kSub, "((a) - (b))"},
      {kMul, "((a) * (b))"},
      {kDiv, "divided(a, b)"},
      {kMax, "((a) < (b) || is_nan(b) ? (b) : (a))"},
      {kMin, "((b) < (a) || is_nan(b) ? (b) : (a))"},
      {kPRelu, "((a) < 0.0f ? (a) * (b) : (a))"}};
  for (const auto& [known, body] : kBodies) {
    if (known == kind) return "#define OPERATION(a, b) " + std::string(body) + "\n";
  }
  return "";
}

/// The launch of a kernel on both operands: a, b, axes, `between`, y, count, number of axes, then
/// `behind`.
struct PairLaunch {
  Kernel* kernel = nullptr;
  const Buffer* axes = nullptr;
  std::uint32_t num_axes = 0;
  std::uint32_t count = 0;
  std::vector<const Buffer*> between{};
  std::vector<std::uint32_t> behind{};

  [[nodiscard]] std::vector<Launch> operator()(const StepMemory& memory) const {
    Launch launch{kernel, grid_of(count), {*memory.inputs[0], *memory.inputs[1], *axes}};
    for (const Buffer* each : between) launch.arguments.emplace_back(*each);
    launch.arguments.emplace_back(*memory.output);
    launch.arguments.emplace_back(count);
    launch.arguments.emplace_back(num_axes);
    for (const std::uint32_t each : behind) launch.arguments.emplace_back(each);
    return {launch};
  }
};

PairLaunch pair_launch(StepMaker& maker, const std::string& macros, const char* name) {
  Kernel& kernel = maker.programs().kernel(
      program_text(macros, {"elementary", "functions", "window", "codes", "pairs"}), name);
  const Axes axes = broadcast_axes_of(maker.context());
  return {&kernel, &maker.constant(axes.numbers), axes.count(), maker.count()};
}

runtime::DeviceChoice made_pair_of_codes(StepMaker& maker) {
  const kernels::FloatPair how = runtime::float_pair(maker.context());
  const auto& op = maker.context().op<ir::Binary>();
  PairLaunch launch = pair_launch(
      maker, code_macro(maker.context().fused->quantize->element) + operation_macro(op.kind),
      "combine_codes");
  const kernels::CodeBounds& bounds = how.y.bounds;
  launch.between = {
      &maker.constant(std::vector<float>{how.a.scale, how.b.scale, how.low, how.high, how.y.scale}),
      &maker.constant(std::vector<std::int32_t>{how.a.zero_point, how.b.zero_point,
                                                bounds.zero_point, bounds.low, bounds.high})};
  launch.behind = {how.y.half_away ? 1U : 0U};
  return maker.made(launch);
}

runtime::DeviceChoice made_pair_table(StepMaker& maker) {
  const ir::Tensor results = runtime::pair_results(maker.context());
  std::vector<std::uint8_t> table(results.bytes().size());
  std::memcpy(table.data(), results.bytes().data(), table.size());
  PairLaunch launch = pair_launch(maker, "", "look_up_pairs");
  launch.between = {&maker.constant(std::move(table))};
  return maker.made(launch);
}

/// Boxes of elements of 1 or 4 bytes.
struct Boxes {
  struct Copy {
    std::size_t input = 0;
    const Buffer* axes = nullptr;
    std::uint32_t num_axes = 0;
    std::uint32_t count = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  Kernel* copy = nullptr;
  Kernel* fill = nullptr;  ///< null: nothing is filled
  bool has_value = false;
  std::uint32_t count = 0;
  std::vector<Copy> copies{};

  [[nodiscard]] std::vector<Launch> operator()(const StepMemory& memory) const {
    std::vector<Launch> launches;
    if (fill != nullptr) {
      const Buffer& value = has_value ? *memory.inputs[1] : *memory.output;
      launches.push_back(
          {fill, grid_of(count), {value, *memory.output, count, has_value ? 1U : 0U}});
    }
    for (const Copy& each : copies) {
      if (each.count == 0) continue;
      launches.push_back({copy,
                          grid_of(each.count),
                          {*memory.inputs[each.input], *each.axes, *memory.output, each.count,
                           each.num_axes, each.from, each.to}});
    }
    return launches;
  }
};

Boxes::Copy box_of(StepMaker& maker, const runtime::InputCopy& piece, std::ptrdiff_t bytes) {
  Axes axes;
  std::size_t count = 1;
  for (auto axis = piece.copy.axes.rbegin(); axis != piece.copy.axes.rend(); ++axis) {
    axes.add(axis->count, axis->src_bytes / bytes, axis->dst_bytes / bytes);
    count *= axis->count;
  }
  return {piece.input,
          &maker.constant(axes.numbers),
          axes.count(),
          number(count),
          static_cast<std::uint32_t>(piece.copy.src_offset / bytes),
          static_cast<std::uint32_t>(piece.copy.dst_offset / bytes)};
}

}  // namespace

runtime::DeviceChoice make_pair(StepMaker& maker) {
  const runtime::NodeContext& context = maker.context();
  if (context.fused != nullptr) {
    return context.fused->requantize != nullptr ? made_pair_table(maker)
                                                : made_pair_of_codes(maker);
  }
  const auto& op = context.op<ir::Binary>();
  const auto is_float = [](const ir::ValueType& type) {
    return type.is_dense(ir::ElementType::kFloat32);
  };
  if (!is_float(context.input(0)) || !is_float(context.input(1)) || !is_float(context.output())) {
    return refused("not float32");
  }
  const auto function = function_macro(op.activation);
  if (!function) return refused("no kernel computes " + ir::to_string(op.activation));
  const std::string operation = operation_macro(op.kind);
  if (operation.empty()) return refused("no kernel computes " + maker.step().op);
  return maker.made(
      pair_launch(maker, "#define NUMBER float\n" + *function + operation, "combine_pairs"));
}

runtime::DeviceChoice make_copy(StepMaker& maker) {
  const runtime::NodeContext& context = maker.context();
  const ir::Encoding& encoding = context.output().encoding;
  const std::size_t bytes = encoding.is_dense() ? ir::size_bytes(encoding.element) : 0;
  if (bytes != 1 && bytes != 4) return refused("elements of neither 1 nor 4 bytes");
  const std::string text =
      program_text(bytes == 1 ? "#define ELEMENT uchar\n" : "#define ELEMENT uint\n",
                   {"elementary", "functions", "window", "codes", "pairs"});
  Boxes boxes{.copy = &maker.programs().kernel(text, "copy_box"), .count = maker.count()};
  if (std::holds_alternative<ir::Pad>(context.node.op)) {
    boxes.fill = &maker.programs().kernel(text, "fill_box");
    boxes.has_value = context.has_input(1);
  }
  for (const runtime::InputCopy& piece : runtime::input_copies(context)) {
    boxes.copies.push_back(box_of(maker, piece, static_cast<std::ptrdiff_t>(bytes)));
  }
  return maker.made(std::move(boxes));
}

}  // namespace halftone::gpu
