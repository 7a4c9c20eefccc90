// SPDX-License-Identifier: Apache-2.0
// com.microsoft.MatMulNBits: y = x w' + bias with w [N, K], where K is divided into blocks.
// Inputs: x [.., K]; codes uint8 [N, blocks, block_size bits / 8], the first in the lowest bits;
// scales [N blocks]; zero points, packed like codes in rows of whole bytes, or floats [N blocks],
// or absent: 2^(bits-1); the block of each k (g_idx), absent: k / block_size; bias [N].
// Source: ONNX Runtime, docs/ContribOperators.md.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/function.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using ir::ElementType;
using ir::ValueId;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;

struct NBits {
  Dim outputs;
  Dim inputs;
  int bits;
  Dim block_size;

  [[nodiscard]] Dim blocks() const { return (inputs + block_size - 1) / block_size; }
  [[nodiscard]] Dim block_bytes() const { return block_size * bits / 8; }
  [[nodiscard]] Dim zero_bytes() const { return (blocks() * bits + 7) / 8; }
};

Dim bounded(NodeBuilder& node, const char* name, Dim least, Dim most) {
  const Dim found = node.int_attribute(name, 0);
  if (found >= least && found <= most) return found;
  fail(ErrorKind::kFormat, std::string(name) + ": expected " + std::to_string(least) + " to " +
                               std::to_string(most) + ", found " + std::to_string(found));
}

NBits nbits_of(NodeBuilder& node) {
  constexpr Dim kMax = Dim{1} << 31;
  const Dim bits = node.int_attribute("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) {
    NodeBuilder::unsupported("expected 2, 4 or 8 bits, found " + std::to_string(bits));
  }
  const NBits form{bounded(node, "N", 1, kMax), bounded(node, "K", 1, kMax), static_cast<int>(bits),
                   bounded(node, "block_size", 16, kMax)};
  if ((form.block_size & (form.block_size - 1)) == 0) return form;
  fail(ErrorKind::kFormat,
       "block_size: expected a power of two, found " + std::to_string(form.block_size));
}

void require_number(const char* what, std::size_t found, Dim expected) {
  if (found == static_cast<std::size_t>(expected)) return;
  fail(ErrorKind::kShape, std::string(what) + ": expected " + std::to_string(expected) +
                              ", found " + std::to_string(found));
}

/// A constant of bytes. @throws Error kShape for another number of them
std::span<const std::uint8_t> bytes_of(NodeBuilder& node, std::size_t i, const char* what,
                                       Dim count) {
  const ir::Tensor& bytes = node.constant_input(i);
  if (bytes.element() != ElementType::kUint8) {
    fail(ErrorKind::kFormat,
         std::string(what) + ": expected uint8, found " + bytes.type().to_string());
  }
  require_number(what, bytes.size(), count);
  return bytes.as<std::uint8_t>();
}

/// Number i of a row of codes.
std::uint8_t code_at(std::span<const std::uint8_t> row, Dim i, int bits) {
  const auto bit = static_cast<std::size_t>(i * bits);
  return static_cast<std::uint8_t>(row[bit / 8] >> bit % 8 & ((1 << bits) - 1));
}

/// The blocks of the inputs, where a file gives them as g_idx.
struct InputBlocks {
  /// Of each input; empty if that of input k is k / block_size.
  std::vector<std::int32_t> of_inputs;
  /// The inputs in the order of their blocks, if each block then has its neighbours; else empty.
  std::vector<std::int32_t> order;
};

/// g_idx, which may be longer than the inputs.
std::vector<std::int32_t> given_blocks(NodeBuilder& node, const NBits& form) {
  const ir::Tensor given = node.constant_input(4).cast(ElementType::kInt32);
  const auto all = given.as<std::int32_t>();
  if (all.size() < static_cast<std::size_t>(form.inputs)) {
    require_number("g_idx", all.size(), form.inputs);
  }
  std::vector<std::int32_t> blocks(all.begin(), all.begin() + form.inputs);
  for (const std::int32_t block : blocks) {
    if (block >= 0 && block < form.blocks()) continue;
    fail(ErrorKind::kFormat, "g_idx: expected 0 to " + std::to_string(form.blocks() - 1) +
                                 ", found " + std::to_string(block));
  }
  return blocks;
}

InputBlocks input_blocks(NodeBuilder& node, const NBits& form) {
  if (!node.has_input(4)) return {};
  InputBlocks result{given_blocks(node, form), {}};
  const auto block_of = [&](std::int32_t k) {
    return result.of_inputs[static_cast<std::size_t>(k)];
  };
  std::vector<std::int32_t> order(result.of_inputs.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<std::int32_t> unchanged = order;
  std::ranges::stable_sort(order, {}, block_of);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (block_of(order[i]) != static_cast<Dim>(i) / form.block_size) return result;
  }
  if (order == unchanged) return {};
  result.order = std::move(order);
  return result;
}

/// @param order  of the inputs in the rows of codes; empty: as they are
ir::Tensor nbits_codes(NodeBuilder& node, const NBits& form, std::span<const std::int32_t> order) {
  const Dim row_bytes = form.blocks() * form.block_bytes();
  const auto bytes = bytes_of(node, 1, "bytes of weights", form.outputs * row_bytes);
  // At most four times as large as the bytes.
  ir::Tensor codes(ElementType::kUint8, {form.outputs, form.inputs});
  const auto numbers = codes.as<std::uint8_t>();
  std::size_t at = 0;
  for (Dim row = 0; row < form.outputs; ++row) {
    const auto packed = bytes.subspan(static_cast<std::size_t>(row * row_bytes));
    for (Dim k = 0; k < form.inputs; ++k) {
      const Dim input = order.empty() ? k : order[static_cast<std::size_t>(k)];
      numbers[at++] = code_at(packed, input, form.bits);
    }
  }
  return codes;
}

ir::Tensor nbits_scales(NodeBuilder& node, const NBits& form) {
  const ir::Tensor scales = node.constant_input(2).cast(ElementType::kFloat32);
  check_scales(scales);
  require_number("scales", scales.size(), form.outputs * form.blocks());
  return scales.reshaped({form.outputs, form.blocks()});
}

ir::Tensor nbits_zero_points(NodeBuilder& node, const NBits& form) {
  ir::Tensor zeros = node.allocate(ElementType::kFloat32, {form.outputs, form.blocks()});
  const auto numbers = zeros.as<float>();
  if (!node.has_input(3)) {
    std::ranges::fill(numbers, static_cast<float>(1 << (form.bits - 1)));
    return zeros;
  }
  if (node.constant_input(3).element() != ElementType::kUint8) {
    const std::vector<float> given = node.float_input(3);
    require_number("zero points", given.size(), form.outputs * form.blocks());
    std::ranges::copy(given, numbers.begin());
    return zeros;
  }
  bytes_of(node, 3, "bytes of zero points", form.outputs * form.zero_bytes());
  const ir::Tensor rows = node.constant_input(3).reshaped({form.outputs, form.zero_bytes()});
  const ir::Tensor codes = unpacked_codes(rows, form.bits, form.blocks());
  std::ranges::copy(codes.as<std::uint8_t>(), numbers.begin());
  return zeros;
}

/// The weights as codes in the order of InputBlocks.
QuantizedWeight nbits_weight(NodeBuilder& node, const NBits& form, const InputBlocks& blocks) {
  QuantizedWeight weight;
  weight.name = node.input_name(1);
  weight.bits = form.bits;
  weight.set_codes(nbits_codes(node, form, blocks.order));
  weight.blocks = {1, form.block_size};
  weight.scales = nbits_scales(node, form);
  weight.zero_points = nbits_zero_points(node, form);
  return weight;
}

/// The numbers of weights whose blocks have other sizes than block_size.
/// @param blocks  of each input
ValueId decoded(NodeBuilder& node, const QuantizedWeight& weight,
                std::span<const std::int32_t> blocks) {
  ir::Tensor numbers = node.allocate(ElementType::kFloat32, weight.shape);
  const auto values = numbers.as<float>();
  const auto scales = weight.scales.as<float>();
  const auto zeros = weight.zero_points.as<float>();
  const auto num_blocks = static_cast<std::size_t>(weight.scales.shape()[1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / blocks.size();
    const auto block = static_cast<std::size_t>(blocks[i % blocks.size()]);
    const std::size_t at = row * num_blocks + block;
    values[i] = (static_cast<float>(weight.code(i)) - zeros[at]) * scales[at];
  }
  return node.state().graph.add_constant(weight.name, std::move(numbers));
}

/// The inputs in another order, which is empty if they stay in theirs.
ValueId ordered(NodeBuilder& node, ValueId x, std::span<const std::int32_t> order) {
  if (order.empty()) return x;
  const ir::Shape& shape = node.type(x).shape;
  const auto count = static_cast<Dim>(order.size());
  if (shape.rank() == 0 || shape[shape.rank() - 1] != count) {
    fail(ErrorKind::kShape,
         "expected " + std::to_string(count) + " inputs, found the shape " + shape.to_string());
  }
  const ValueId indices = node.add_constant(ir::Tensor::from<std::int32_t>({count}, order));
  return node.emit(ir::Gather{shape.rank() - 1}, {x, indices}, "order");
}

void build_matmul_nbits(NodeBuilder& node) {
  const NBits form = nbits_of(node);
  const InputBlocks blocks = input_blocks(node, form);
  const auto weight = std::make_shared<const QuantizedWeight>(nbits_weight(node, form, blocks));
  const bool has_codes = blocks.of_inputs.empty() || !blocks.order.empty();
  std::optional<ValueId> codes;
  if (has_codes) codes = encoded_weight(node, weight, {0, 1});
  LayerInput x = layer_input(node, 0);
  x.x = ordered(node, x.x, blocks.order);
  std::vector<ValueId> inputs = {operand(node, x),
                                 has_codes ? *codes : decoded(node, *weight, blocks.of_inputs)};
  if (node.has_input(5)) inputs.push_back(node.input(5));
  ir::FullyConnected op;
  op.arithmetic = arithmetic_of(x, codes);
  node.set_output(0, node.emit(op, std::move(inputs)));
}

/// Rows of a table of few bits: Gather of DequantizeLinear. Bytes hold 8 / bits codes along the
/// last axis, whose zero is 2^(bits-1) unless zero points say otherwise.
void build_gather_block_quantized(NodeBuilder& node) {
  enum : std::size_t { kTable, kIndices, kScales, kZeros };
  const bool has_bytes = node.data_type(kTable) == TensorProto::UINT8;
  const Dim bits = node.int_attribute("bits", 4);
  if (has_bytes && bits != 2 && bits != 4 && bits != 8) {
    NodeBuilder::unsupported("expected 2, 4 or 8 bits, found " + std::to_string(bits));
  }
  Function function(node, kAttentionOpset);
  Function::Names inputs{function.in(kTable), function.in(kScales), function.in(kZeros)};
  if (has_bytes) {
    const ir::Shape scales = node.input_type(kScales).shape;
    const int width = static_cast<int>(bits);
    const ir::Tensor& table = node.constant_input(kTable);
    const Dim columns = table.shape().rank() == 0 ? 0 : table.shape().back() * 8 / bits;
    node.state().charge(table.size() * static_cast<std::size_t>(8 / bits));
    inputs[0] = function.codes("table", unpacked_codes(table, width, columns), width);
    inputs[2] = function.codes("zeros", zero_codes(node, kZeros, scales, width), width);
  }
  NodeProto& numbers = function.add("DequantizeLinear", inputs, "numbers");
  set_attribute(numbers, "axis", node.int_attribute("quantize_axis", 1));
  set_attribute(numbers, "block_size", node.int_attribute("block_size", 128));
  NodeProto& rows = function.add("Gather", {"numbers", function.in(kIndices)}, "y");
  set_attribute(rows, "axis", node.int_attribute("gather_axis", 0));
  function.build();
}

constexpr ReaderEntry kNBitsReaders[] = {
    {kMicrosoftDomain, "GatherBlockQuantized", build_gather_block_quantized},
    {kMicrosoftDomain, "MatMulNBits", build_matmul_nbits},
};

}  // namespace

std::span<const ReaderEntry> nbits_readers() { return kNBitsReaders; }

}  // namespace halftone::formats::onnx
