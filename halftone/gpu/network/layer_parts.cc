// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/network/layer_parts.h"

#include "halftone/base/bits.h"
#include "halftone/gpu/network/functions.h"
#include "halftone/gpu/texts.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/elementwise/elementwise.h"

namespace halftone::gpu {
namespace {

constexpr std::uint32_t kHasResidual = 1;  // as in text/window.cl
constexpr std::uint32_t kHasLimits = 2;

const ir::Activation& activation_of(const runtime::NodeContext& context) {
  if (const auto* conv = std::get_if<ir::Conv>(&context.node.op)) return conv->activation;
  return context.op<ir::FullyConnected>().activation;
}

/// Levels that the layer encodes its output to; null: none.
const numerics::MatrixEncoding* codes_of(const runtime::NodeContext& context) {
  const auto* conv = std::get_if<ir::Conv>(&context.node.op);
  return conv == nullptr ? nullptr : conv->codes.get();
}

/// The part of a layer's activation that is neither limits in its kernel nor in its codes.
ir::Activation rest_of(const runtime::NodeContext& context, bool has_limits) {
  const ir::Activation& activation = activation_of(context);
  const numerics::MatrixEncoding* codes = codes_of(context);
  if (codes != nullptr && runtime::can_encode_argument(activation, codes->levels(0))) return {};
  if (has_limits && ir::limits_of(activation)) return {};
  return activation;
}

}  // namespace

kernels::ConvShape layer_shape(const runtime::NodeContext& context) {
  if (std::holds_alternative<ir::Conv>(context.node.op)) return runtime::conv_shape(context);
  const ir::MatrixExtent x = runtime::row_extent(context.input(0).shape);
  return {x.rows, {}, x.cols, static_cast<std::size_t>(context.output().shape.back()), 1};
}

std::vector<std::uint32_t> shape_numbers(const kernels::ConvShape& shape) {
  std::vector<std::uint32_t> numbers;
  for (const kernels::ConvAxis& axis : shape.axes) {
    for (const std::size_t each :
         {axis.input, axis.output, axis.kernel, axis.stride, axis.dilation, axis.pad_before}) {
      numbers.push_back(number(each));
    }
  }
  for (const std::size_t each : {shape.channels, shape.outputs, shape.groups}) {
    numbers.push_back(number(each));
  }
  number(shape.images * shape.image_input_pixels() * shape.channels);
  return numbers;
}

std::vector<std::uint32_t> pixel_patterns(const kernels::ConvShape& shape) {
  const kernels::PaddingPatterns patterns(shape);
  std::vector<std::uint32_t> ids;
  for (std::size_t z = 0; z < shape.axes[0].output; ++z) {
    for (std::size_t y = 0; y < shape.axes[1].output; ++y) {
      for (std::size_t x = 0; x < shape.axes[2].output; ++x) {
        ids.push_back(number(patterns.of(z, y, x)));
      }
    }
  }
  return ids;
}

std::size_t unit_inputs(const kernels::ConvShape& shape, std::size_t section) {
  constexpr std::size_t kWord = 4;
  return shape.group_channels() % kWord == 0 && section % kWord == 0 ? kWord : 1;
}

bool RowCodes::can_encode(const numerics::Levels& levels) {
  return !kernels::EncodeTable(levels).beyond();
}

RowCodes::RowCodes(StepMaker& maker, const numerics::Levels& levels,
                   const ir::Activation& activation) {
  const kernels::EncodeTable table = runtime::encode_table(levels, activation);
  is_planes_ = maker.context().output_layout() == runtime::CodeLayout::kPlanes;
  const kernels::Int8Levels integers(table.levels());
  std::vector<std::int32_t> codes;
  for (const numerics::Code code : table.codes()) {
    codes.push_back(is_planes_ ? static_cast<std::int32_t>(code) : integers.q[code]);
  }
  const std::span<const float> thresholds = table.thresholds();
  num_thresholds_ = number(thresholds.size());
  thresholds_ = &maker.constant(std::vector<float>(thresholds.begin(), thresholds.end()));
  codes_ = &maker.constant(std::move(codes));
  kernel_ = &maker.programs().kernel(program_text("", {"window", "codes"}),
                                     is_planes_ ? "encode_bits" : "encode_bytes");
  const ir::MatrixExtent extent = runtime::row_extent(maker.context().output().shape);
  cols_ = number(extent.cols);
  words_ = number(2 * words_for_bits(extent.cols));
  bits_ = number(table.bits());
  count_ = number(extent.rows * (is_planes_ ? words_ : extent.cols));
}

Launch RowCodes::encode(const Buffer& x, const Buffer& y) const {
  Launch launch{kernel_, grid_of(count_), {x, *thresholds_, *codes_, y, count_}};
  if (is_planes_) {
    for (const std::uint32_t each : {cols_, words_, bits_}) launch.arguments.emplace_back(each);
  }
  launch.arguments.emplace_back(num_thresholds_);
  return launch;
}

std::string LayerEnd::refusal(const runtime::NodeContext& context, bool has_limits) {
  const ir::Activation rest = rest_of(context, has_limits);
  if (!function_macro(rest)) return "no kernel computes " + ir::to_string(rest);
  const numerics::MatrixEncoding* codes = codes_of(context);
  if (codes != nullptr && !RowCodes::can_encode(codes->levels(0))) {
    return "numbers beyond the levels have codes of their own";
  }
  return "";
}

LayerEnd::LayerEnd(StepMaker& maker, bool has_limits)
    : programs_(maker.programs()),
      count_(maker.count()),
      activation_(rest_of(maker.context(), has_limits)) {
  const runtime::NodeContext& context = maker.context();
  const ir::Activation& activation = activation_of(context);
  const bool is_conv = std::holds_alternative<ir::Conv>(context.node.op);
  if (is_conv && context.has_input(3)) flags_ |= kHasResidual;
  const numerics::MatrixEncoding* codes = codes_of(context);
  if (codes != nullptr) {
    const numerics::Levels levels = codes->levels(0);
    const bool is_moved = runtime::can_encode_argument(activation, levels);
    codes_.emplace(maker, levels, is_moved ? activation : ir::Activation{});
    scratch_ = maker.scratch(count_ * sizeof(float));
    if (is_moved) return;
  }
  const auto limits = ir::limits_of(activation);
  if (!has_limits || !limits || activation == ir::Activation{}) return;
  flags_ |= kHasLimits;
  low_ = limits->low;
  high_ = limits->high;
}

const Buffer& LayerEnd::residual(const StepMemory& memory) const {
  return (flags_ & kHasResidual) != 0 ? *memory.inputs[3] : *memory.output;
}

const Buffer& LayerEnd::sums(const StepMemory& memory) const {
  return codes_ ? *memory.scratch[scratch_] : *memory.output;
}

void LayerEnd::follow(const StepMemory& memory, std::vector<Launch>& launches) const {
  const Buffer& y = sums(memory);
  if (activation_.kind != ir::ActivationKind::kIdentity) {
    launches.push_back(apply_function(programs_, activation_, y, y, count_));
  }
  if (codes_) launches.push_back(codes_->encode(y, *memory.output));
}

}  // namespace halftone::gpu
