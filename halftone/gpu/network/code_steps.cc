// SPDX-License-Identifier: Apache-2.0
// Conversions to, from and between codes.
#include <array>

#include "halftone/base/elementary.h"
#include "halftone/gpu/network/layer_parts.h"
#include "halftone/gpu/network/requantizing.h"
#include "halftone/gpu/texts.h"

namespace halftone::gpu {
namespace {

constexpr std::size_t kCodes = ir::Lookup::kCodes;

Kernel& code_kernel(StepMaker& maker, const std::string& macros, const std::string& name) {
  return maker.programs().kernel(program_text(macros, {"window", "codes"}), name);
}

class Conversions {
 public:
  explicit Conversions(StepMaker& maker) : maker_(maker), context_(maker.context()) {}

  runtime::DeviceChoice operator()(const ir::Requantize& op) const {
    return maker_.made([how = Requantizing(maker_, op)](const StepMemory& memory) {
      return std::vector<Launch>{how.launch(*memory.inputs[0], *memory.output)};
    });
  }

  runtime::DeviceChoice operator()(const ir::QuantizeLinear& op) const {
    if (op.parameters.scales.size() != 1) return refused("several scales");
    if (ir::size_bytes(op.element) != 1) return refused("codes of more than 8 bits");
    Kernel& kernel = code_kernel(maker_, code_macro(op.element), "quantize_linear");
    const auto [low, high] = ir::code_range(op.element);
    std::vector<std::uint32_t> numbers;
    for (const std::int64_t each :
         {std::int64_t{op.parameters.zero_points[0]}, std::int64_t{low}, std::int64_t{high}}) {
      numbers.push_back(static_cast<std::uint32_t>(each));
    }
    numbers.push_back(op.rounding == ir::CodeRounding::kHalfAway ? 1 : 0);
    return maker_.made([k = &kernel, numbers, scale = op.parameters.scales[0],
                        count = maker_.count()](const StepMemory& memory) {
      return std::vector<Launch>{{k,
                                  grid_of(count),
                                  {*memory.inputs[0], *memory.output, count, scale, numbers[0],
                                   numbers[1], numbers[2], numbers[3]}}};
    });
  }

  runtime::DeviceChoice operator()(const ir::DequantizeLinear& op) const {
    const ir::ElementType element = context_.input(0).encoding.element;
    if (ir::size_bytes(element) != 1 && element != ir::ElementType::kInt32) {
      return refused("codes of 16 or 64 bits");
    }
    const std::size_t cols = op.parameters.scales.size();
    if (cols != 1 && op.parameters.axis + 1 != context_.input(0).shape.rank()) {
      return refused("scales not of the last axis");
    }
    Kernel& kernel = code_kernel(maker_, code_macro(element), "dequantize_linear");
    std::vector<std::int32_t> zeros(op.parameters.zero_points.begin(),
                                    op.parameters.zero_points.end());
    const Buffer& scales = maker_.constant(std::vector<float>(op.parameters.scales));
    const Buffer& zero_points = maker_.constant(std::move(zeros));
    return maker_.made([k = &kernel, s = &scales, z = &zero_points, cols = number(cols),
                        count = maker_.count()](const StepMemory& memory) {
      return std::vector<Launch>{
          {k, grid_of(count), {*memory.inputs[0], *s, *z, *memory.output, count, cols}}};
    });
  }

  runtime::DeviceChoice operator()(const ir::Lookup& op) const {
    const ir::ElementType codes = context_.input(0).encoding.element;
    const auto first = static_cast<std::size_t>(ir::code_range(codes).low) % kCodes;
    const bool is_wide = op.element == ir::ElementType::kInt32;
    std::vector<std::int32_t> wide(kCodes);
    for (std::size_t i = 0; i < kCodes; ++i) wide[(first + i) % kCodes] = op.table[i];
    std::vector<std::uint8_t> narrow;
    for (const std::int32_t each : wide) narrow.push_back(static_cast<std::uint8_t>(each));
    Kernel& kernel =
        code_kernel(maker_, is_wide ? "#define RESULT int\n" : "#define RESULT uchar\n", "look_up");
    const Buffer& table =
        is_wide ? maker_.constant(std::move(wide)) : maker_.constant(std::move(narrow));
    return maker_.made([k = &kernel, t = &table, count = maker_.count()](const StepMemory& memory) {
      return std::vector<Launch>{
          {k, grid_of(count), {*memory.inputs[0], *t, *memory.output, count}}};
    });
  }

  /// Softmax of codes.
  runtime::DeviceChoice operator()(const ir::Softmax& op) const {
    const ir::MatrixExtent extent = runtime::row_extent(context_.input(0).shape);
    std::vector<float> powers;
    for (std::size_t d = 0; d < kCodes; ++d) {
      powers.push_back(static_cast<float>(elementary::exp(-op.beta * static_cast<float>(d))));
    }
    const Buffer& table = maker_.constant(std::move(powers));
    Kernel& kernel =
        code_kernel(maker_, code_macro(context_.input(0).encoding.element), "softmax_codes");
    return maker_.made([k = &kernel, t = &table, extent](const StepMemory& memory) {
      return std::vector<Launch>{
          {k,
           grid_of(extent.rows),
           {*memory.inputs[0], *t, *memory.output, number(extent.rows), number(extent.cols)}}};
    });
  }

  template <typename Op>
  runtime::DeviceChoice operator()(const Op& /*op*/) const {
    return refused("no kernel computes " + maker_.step().op);
  }

 private:
  StepMaker& maker_;
  const runtime::NodeContext& context_;
};

}  // namespace

runtime::DeviceChoice make_encode(StepMaker& maker) {
  const auto& op = maker.context().op<ir::Encode>();
  const numerics::Levels levels = op.encoding->levels(0);
  if (!RowCodes::can_encode(levels)) {
    return refused("numbers beyond the levels have codes of their own");
  }
  return maker.made([codes = RowCodes(maker, levels, op.activation)](const StepMemory& memory) {
    return std::vector<Launch>{codes.encode(*memory.inputs[0], *memory.output)};
  });
}

runtime::DeviceChoice make_code_conversion(StepMaker& maker) {
  return std::visit(Conversions(maker), maker.context().node.op);
}

}  // namespace halftone::gpu
