// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/conv_layer.h"

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats {
namespace {

void set_window(ConvFields& fields, const ir::Window& window) {
  fields.strides = window.strides;
  fields.dilations = window.dilations;
  for (const ir::Dim pad : window.pads_before) fields.pads.push_back(pad);
  for (const ir::Dim pad : window.pads_after) fields.pads.push_back(pad);
}

const numerics::NumberSystem& known_system(const std::string& name) {
  try {
    return numerics::find_system(name);
  } catch (const Error& error) {
    fail(ErrorKind::kUnsupported, error.what());
  }
}

}  // namespace

ConvFields conv_fields_of(const ir::Graph& graph, const ir::Node& node) {
  ConvFields fields;
  fields.codes = fields_of(graph, node);
  for (const ir::Dim extent : ir::kernel_extents(graph.value(node.inputs[1]).type.shape)) {
    fields.kernel.push_back(extent);
  }
  if (const auto* conv = std::get_if<ir::Conv>(&node.op)) {
    set_window(fields, conv->window);
    fields.group = conv->groups;
  } else {
    const auto& transposed = std::get<ir::ConvTranspose>(node.op);
    set_window(fields, transposed.window);
    fields.group = transposed.groups;
    fields.output_padding = transposed.output_padding;
    fields.transposed = true;
  }
  return fields;
}

ir::Operator conv_of(const ConvFields& fields) {
  const std::size_t rank = fields.strides.size();
  if (fields.pads.size() != 2 * rank) {
    fail(ErrorKind::kFormat, "pads: expected " + std::to_string(2 * rank) + " numbers, found " +
                                 std::to_string(fields.pads.size()));
  }
  ir::Window window{fields.strides, fields.dilations, {}, {}};
  for (std::size_t i = 0; i < rank; ++i) {
    window.pads_before.push_back(fields.pads[i]);
    window.pads_after.push_back(fields.pads[rank + i]);
  }
  const ir::Activation activation = activation_of_code(fields.codes.activation);
  ir::Operator op = ir::Conv{window, fields.group, activation};
  if (fields.transposed) {
    op = ir::ConvTranspose{std::move(window), fields.output_padding, fields.group, activation};
  }
  *ir::arithmetic(op) = fields.codes.arithmetic;
  return op;
}

ir::Shape conv_weight_shape(std::span<const std::int64_t> kernel, std::int64_t n, ir::Dim outputs) {
  std::vector<ir::Dim> dims = {outputs};
  std::int64_t taps = 1;
  for (const std::int64_t extent : kernel) {
    if (extent < 1 || extent > n / taps) {
      fail(ErrorKind::kFormat, "kernel: expected extents whose product divides " +
                                   std::to_string(n) + " inputs, found " + std::to_string(extent));
    }
    taps *= extent;
    dims.push_back(extent);
  }
  if (n % taps != 0) {
    fail(ErrorKind::kFormat, "kernel: " + std::to_string(taps) + " taps do not divide " +
                                 std::to_string(n) + " inputs");
  }
  dims.push_back(n / taps);
  return ir::Shape(std::move(dims));
}

FakeQuantizeFields fields_of(const ir::FakeQuantize& op) {
  return {std::string(op.system->name), op.bits, op.blocks.granularity,
          static_cast<std::int64_t>(op.blocks.group_size)};
}

ir::FakeQuantize fake_quantize_of(const FakeQuantizeFields& fields) {
  ir::FakeQuantize op;
  op.system = &known_system(fields.system);
  const bool has_bits = fields.bits >= 1 && fields.bits <= numerics::kMaxCodeBits;
  if (!has_bits || !op.system->allows(static_cast<int>(fields.bits))) {
    fail(ErrorKind::kFormat,
         "bits: " + std::to_string(fields.bits) + " are none of " + std::string(op.system->name));
  }
  if (fields.group_size < 0) {
    fail(ErrorKind::kFormat,
         "group_size: expected at least 0, found " + std::to_string(fields.group_size));
  }
  op.bits = static_cast<int>(fields.bits);
  op.blocks = {fields.granularity, static_cast<std::size_t>(fields.group_size)};
  return op;
}

}  // namespace halftone::formats
