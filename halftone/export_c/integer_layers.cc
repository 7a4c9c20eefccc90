// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers, and pools.
#include <algorithm>
#include <vector>

#include "halftone/export_c/requantizing.h"
#include "halftone/export_c/write_layers.h"

namespace halftone::export_c {
namespace {

/// Weights of a byte less their zero points.
std::vector<std::int16_t> weights_of(const Scope& scope, const ir::ZeroPoints& zeros,
                                     std::size_t outputs) {
  const ir::Constant* constant = scope.constant(1);
  if (constant == nullptr) scope.refuse("weights that are computed");
  const auto& tensor = std::get<ir::Tensor>(*constant);
  const bool is_signed = tensor.element() == ir::ElementType::kInt8;
  const auto bytes = tensor.bytes();
  const std::size_t inputs = bytes.size() / outputs;
  std::vector<std::int16_t> weights;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int byte = std::to_integer<int>(bytes[i]);
    const int code = is_signed ? static_cast<std::int8_t>(byte) : byte;
    weights.push_back(static_cast<std::int16_t>(code - zeros.of_output(i / inputs)));
  }
  return weights;
}

std::vector<std::int8_t> as_bytes(std::span<const std::int16_t> weights) {
  std::vector<std::int8_t> bytes;
  for (const std::int16_t each : weights) bytes.push_back(static_cast<std::int8_t>(each));
  return bytes;
}

/// The bias less the share of the zero point of x: bias[o] - zero sum_k w[o][k], modulo 2^32.
std::vector<std::int32_t> folded_bias(const Scope& scope, std::span<const std::int16_t> weights,
                                      std::size_t outputs, std::int32_t zero) {
  std::vector<std::int32_t> bias(outputs);
  if (scope.has_input(2)) {
    const ir::Constant* constant = scope.constant(2);
    if (constant == nullptr) scope.refuse("a bias that is computed");
    std::ranges::copy(std::get<ir::Tensor>(*constant).as<std::int32_t>(), bias.begin());
  }
  const std::size_t inputs = weights.size() / outputs;
  for (std::size_t o = 0; o < outputs; ++o) {
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < inputs; ++k) {
      sum += static_cast<std::uint32_t>(weights[o * inputs + k]);
    }
    const std::uint32_t share = static_cast<std::uint32_t>(zero) * sum;
    bias[o] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias[o]) - share);
  }
  return bias;
}

/// [outputs, taps] to [taps, outputs]
std::vector<std::int8_t> by_taps(std::span<const std::int8_t> weights, std::size_t outputs) {
  const std::size_t taps = weights.size() / outputs;
  std::vector<std::int8_t> turned(weights.size());
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t t = 0; t < taps; ++t) turned[t * outputs + o] = weights[o * taps + t];
  }
  return turned;
}

const ir::ZeroPoints& zero_points_of(const Scope& scope) {
  if (const auto* conv = scope.op<ir::Conv>()) return conv->zero_points;
  return scope.op<ir::FullyConnected>()->zero_points;
}

/// A layer whose weights need 16 bits, as a convolution.
void write_wide(Scope& scope, std::span<const std::int16_t> weights,
                const std::vector<std::int32_t>& bias) {
  scope.reads("x", 0);
  scope.writes("y");
  const std::string w = scope.array<std::int16_t>("weights", weights);
  const std::string b = scope.array<std::int32_t>("bias", bias);
  add_codes(scope, *scope.what().requantize);
  const auto* conv = scope.op<ir::Conv>();
  const ir::MatrixExtent x = runtime::row_extent(scope.input(0).shape);
  const auto rows = static_cast<ir::Dim>(x.rows);
  const auto inputs = static_cast<ir::Dim>(x.cols);
  add_window(scope,
             conv != nullptr
                 ? window_extents(scope, conv->window, ir::kernel_extents(scope.input(1).shape))
                 : WindowExtents{rows, 1, inputs, rows, 1, scope.output().shape.back(), 1, 1, 1, 1,
                                 1, 1, 0, 0});
  scope.call("conv_wide_i8", arguments("x", zero_points_of(scope).x, "&window",
                                       conv != nullptr ? conv->groups : 1, w, b, "&codes", "y"));
}

struct ConstantNames {
  std::string weights;
  std::string bias;
};

void write_dense(Scope& scope, const ConstantNames& constants) {
  const ir::MatrixExtent x = runtime::row_extent(scope.input(0).shape);
  scope.call("dense_i8", arguments("x", x.rows, x.cols, scope.output().shape.back(),
                                   constants.weights, constants.bias, "&codes", "y"));
}

void write_conv(Scope& scope, const ir::Conv& op, const ConstantNames& constants) {
  const WindowExtents extents =
      window_extents(scope, op.window, ir::kernel_extents(scope.input(1).shape));
  add_window(scope, extents);
  const std::string zero = std::to_string(op.zero_points.x);
  const bool is_dilated = extents.dilation_y != 1 || extents.dilation_x != 1;
  if (op.groups > 1 && op.groups == extents.channels && op.groups == extents.outputs) {
    scope.call("depthwise_i8",
               arguments("x", zero, "&window", constants.weights, constants.bias, "&codes", "y"));
  } else if (op.groups > 1 || is_dilated) {
    scope.call("conv_groups_i8", arguments("x", zero, "&window", op.groups, constants.weights,
                                           constants.bias, "&codes", "y"));
  } else {
    scope.call("conv_i8",
               arguments("x", zero, "&window", constants.weights, constants.bias, "&codes", "y"));
  }
}

}  // namespace

bool write_integer_layer(Scope& scope) {
  const auto* conv = scope.op<ir::Conv>();
  if (conv == nullptr && scope.op<ir::FullyConnected>() == nullptr) return false;
  if (!ir::are_integers(scope.input(0), scope.input(1))) return false;
  scope.require_input(0, ir::ElementType::kInt8, "the input");
  if (scope.what().requantize == nullptr) scope.refuse("sums that do not become codes");
  scope.require_output(ir::ElementType::kInt8);
  if (scope.output().shape.element_count() == 0) scope.refuse("an empty output");
  const auto outputs = static_cast<std::size_t>(scope.output().shape.back());
  const ir::ZeroPoints& zeros = zero_points_of(scope);
  const std::vector<std::int16_t> numbers = weights_of(scope, zeros, outputs);
  const bool are_bytes =
      std::ranges::all_of(numbers, [](std::int16_t each) { return each >= -128 && each <= 127; });
  if (!are_bytes) {
    write_wide(scope, numbers, folded_bias(scope, numbers, outputs, 0));
    return true;
  }
  const bool is_depthwise = conv != nullptr && conv->groups > 1 &&
                            conv->groups == scope.input(0).shape.back() &&
                            static_cast<std::size_t>(conv->groups) == outputs;
  const bool is_plain =
      conv == nullptr ||
      (conv->groups == 1 &&
       std::ranges::all_of(conv->window.dilations, [](ir::Dim each) { return each == 1; }));
  const std::vector<std::int32_t> bias =
      folded_bias(scope, numbers, outputs, is_plain ? zeros.x : 0);
  std::vector<std::int8_t> weights = as_bytes(numbers);
  if (is_depthwise) weights = by_taps(weights, outputs);
  scope.reads("x", 0);
  scope.writes("y");
  const ConstantNames constants{scope.array<std::int8_t>("weights", weights),
                                scope.array<std::int32_t>("bias", bias)};
  add_codes(scope, *scope.what().requantize);
  if (conv != nullptr) {
    write_conv(scope, *conv, constants);
  } else {
    write_dense(scope, constants);
  }
  return true;
}

bool write_pool(Scope& scope) {
  const auto* pool = scope.op<ir::Pool>();
  if (pool == nullptr || !ir::are_codes(scope.input(0))) return false;
  const bool is_mean = pool->kind == ir::PoolKind::kAverage;
  const bool is_unsigned = is_mean && scope.input(0).is_dense(ir::ElementType::kUint8);
  if (!is_unsigned) scope.require_input(0, ir::ElementType::kInt8, "the input");
  if (scope.constant(0) != nullptr) scope.refuse("the input being constant");
  scope.reads("x", 0);
  scope.writes("y");
  add_window(scope, window_extents(scope, pool->window, pool->kernel));
  scope.call(!is_mean      ? "max_pool_i8"
             : is_unsigned ? "mean_pool_u8"
                           : "mean_pool_i8",
             "x, &window, y");
  return true;
}

void add_codes(Scope& scope, const ir::Requantize& op) {
  const auto codes = codes_of_sums(op);
  if (!codes) scope.refuse("multipliers that no integers replace; requantize its output in TFLite");
  std::string mantissas = "0";
  std::string wide = "0";
  if (codes->is_wide) {
    wide = scope.array<std::int64_t>("mantissas", codes->mantissas);
  } else {
    const std::vector<std::int32_t> narrow(codes->mantissas.begin(), codes->mantissas.end());
    mantissas = scope.array<std::int32_t>("mantissas", narrow);
  }
  const std::string shifts = scope.array<std::int8_t>("shifts", codes->shifts);
  const int step = codes->mantissas.size() == 1 ? 0 : 1;
  scope.line("static const ht_codes codes = {" +
             arguments(mantissas, wide, shifts, step, codes->is_twice ? 1 : 0, op.zero_point,
                       op.low, op.high) +
             "};");
}

WindowExtents window_extents(const Scope& scope, const ir::Window& window,
                             std::span<const ir::Dim> kernel) {
  const ir::Shape& x = scope.input(0).shape;
  const ir::Shape& y = scope.output().shape;
  const std::size_t rank = window.rank();
  if (rank == 0 || rank > 2) scope.refuse("more than two spatial axes");
  if (x[0] != 1) scope.refuse("several samples at a time");
  const std::size_t last = rank - 1;  // the axis of x; an image of one axis has height 1
  const bool is_flat = rank == 1;
  return {.height = is_flat ? 1 : x[1],
          .width = x[1 + last],
          .channels = x.back(),
          .out_height = is_flat ? 1 : y[1],
          .out_width = y[1 + last],
          .outputs = y.back(),
          .kernel_height = is_flat ? 1 : kernel[0],
          .kernel_width = kernel[last],
          .stride_y = is_flat ? 1 : window.strides[0],
          .stride_x = window.strides[last],
          .dilation_y = is_flat ? 1 : window.dilations[0],
          .dilation_x = window.dilations[last],
          .pad_top = is_flat ? 0 : window.pads_before[0],
          .pad_left = window.pads_before[last]};
}

void add_window(Scope& scope, const WindowExtents& e) {
  const auto field = [](std::string_view name, ir::Dim number) {
    return "." + std::string(name) + " = " + std::to_string(number);
  };
  scope.line("static const ht_window window = {");
  scope.line(
      "    " +
      arguments(field("height", e.height), field("width", e.width), field("channels", e.channels)) +
      ",");
  scope.line("    " +
             arguments(field("out_height", e.out_height), field("out_width", e.out_width),
                       field("outputs", e.outputs)) +
             ",");
  scope.line(
      "    " +
      arguments(field("kernel_height", e.kernel_height), field("kernel_width", e.kernel_width)) +
      ",");
  scope.line("    " +
             arguments(field("stride_y", e.stride_y), field("stride_x", e.stride_x),
                       field("dilation_y", e.dilation_y), field("dilation_x", e.dilation_x)) +
             ",");
  scope.line("    " + arguments(field("pad_top", e.pad_top), field("pad_left", e.pad_left)) + "};");
}

}  // namespace halftone::export_c
