// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/low_bit_layer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats {
namespace {

using numerics::MatrixEncoding;
using numerics::Granularity;

/// Largest extent in a graph.
constexpr std::int64_t kMaxInputs = std::int64_t{1} << 40;

/// Indexed by code.
constexpr ir::ActivationKind kActivations[] = {
    ir::ActivationKind::kIdentity, ir::ActivationKind::kRelu, ir::ActivationKind::kReluN1To1,
    ir::ActivationKind::kRelu6,    ir::ActivationKind::kTanh, ir::ActivationKind::kSignBit};

void check_that(bool holds, const std::string& message) {
  if (!holds) fail(ErrorKind::kFormat, message);
}

void check_range(const char* name, std::int64_t value, std::int64_t max) {
  check_that(value >= 0 && value <= max, std::string(name) + ": expected 0 to " +
                                             std::to_string(max) + ", found " +
                                             std::to_string(value));
}

std::size_t row_width(const MatrixEncoding& encoding) {
  return encoding.scales_per_block() + (encoding.has_offset ? 1 : 0);
}

/// The scales of each block, followed by its offset.
std::vector<float> to_rows(const MatrixEncoding& encoding) {
  std::vector<float> rows;
  const std::size_t each = encoding.scales_per_block();
  for (std::size_t block = 0; block < encoding.num_blocks(); ++block) {
    for (std::size_t i = 0; i < each; ++i) rows.push_back(encoding.scales[block * each + i]);
    if (encoding.has_offset) rows.push_back(encoding.offsets[block]);
  }
  return rows;
}

/// The inverse: sets the numbers of an encoding that is otherwise complete.
void fill_blocks(MatrixEncoding& encoding, const ir::Tensor& tensor) {
  const std::size_t width = row_width(encoding);
  const ir::Shape& shape = tensor.shape();
  check_that(shape.rank() > 0 && static_cast<std::size_t>(shape.back()) == width,
             "expected rows of " + std::to_string(width) + " numbers, found " + shape.to_string());
  const auto numbers = tensor.as<float>();
  const auto bad = std::ranges::find_if(numbers, [](float x) { return !std::isfinite(x); });
  check_that(bad == numbers.end(), "expected finite numbers, found " +
                                       (bad == numbers.end() ? "" : std::to_string(*bad)));
  const std::size_t each = encoding.scales_per_block();
  std::vector<float> scales;
  std::vector<float> offsets;
  for (std::size_t first = 0; first < numbers.size(); first += width) {
    const auto row = numbers.subspan(first, width);
    scales.insert(scales.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(each));
    if (encoding.has_offset) offsets.push_back(row.back());
  }
  encoding.scales = numerics::StoredNumbers::of(scales).compact();
  encoding.offsets = numerics::StoredNumbers::of(offsets).compact();
}

}  // namespace

void check_low_bit_version(std::int64_t version) {
  if (version >= 1 && version <= kLowBitVersion) return;
  fail(ErrorKind::kUnsupported, "version: expected 1 to " + std::to_string(kLowBitVersion) +
                                    ", found " + std::to_string(version));
}

void LowBitFields::check() const {
  check_range("inputs", inputs, kMaxInputs);
  check_range("weight_bits", weight_bits, numerics::kMaxBits);
  check_range("activation_bits", activation_bits, numerics::kMaxBits);
  check_range("group_size", group_size, kMaxInputs);
  check_that((granularity == Granularity::kGroup) == (group_size != 0),
             "group_size " + std::to_string(group_size) + " does not go with granularity " +
                 std::string(to_string(granularity)));
  activation_of_code(activation);
}

void LowBitFields::check_table() const {
  check_that(arithmetic == ir::Arithmetic::kAuto,
             "arithmetic: expected none for a table, found " + std::string(to_string(arithmetic)));
  check_that(weight_bits > 0 && activation_bits == 0 && activation == 0,
             "a table: expected codes alone, found " + std::to_string(weight_bits) +
                 " weight_bits, " + std::to_string(activation_bits) +
                 " activation_bits, activation " + std::to_string(activation));
}

Granularity granularity_of(std::string_view name) {
  for (const auto each : {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    if (name == to_string(each)) return each;
  }
  fail(ErrorKind::kFormat,
       "granularity: expected tensor, channel or group, found '" + std::string(name) + "'");
}

ir::Arithmetic arithmetic_of_name(const std::string& name) {
  if (const auto named = ir::arithmetic_named(name)) return *named;
  fail(ErrorKind::kFormat,
       "arithmetic: expected auto, bits, integers or float, found '" + name + "'");
}

std::optional<std::int64_t> activation_code(ir::ActivationKind kind) {
  const auto* found = std::ranges::find(kActivations, kind);
  if (found == std::end(kActivations)) return std::nullopt;
  return std::distance(std::begin(kActivations), found);
}

ir::Activation activation_of_code(std::int64_t code) {
  check_range("activation", code, std::ssize(kActivations) - 1);
  return {kActivations[code], 0, 0};
}

ir::Activation activation_after(const ir::Operator& op) {
  const ir::Activation* fused = ir::fused_activation(op);
  return fused == nullptr ? ir::Activation{} : *fused;
}

LowBitLayer take_apart(const ir::Graph& graph, const ir::Node& node) {
  LowBitLayer layer;
  const std::size_t weights = weights_input(node.op);
  layer.x = node.inputs[1 - weights];
  layer.weights_id = node.inputs[weights];
  if (node.inputs.size() > 2) layer.bias = node.inputs[2];
  const ir::Constant* constant = graph.constant(layer.weights_id);
  if (constant != nullptr) layer.weights = std::get_if<ir::EncodedTensor>(constant);
  const auto producer = graph.producer(layer.x);
  if (!producer) return layer;
  const ir::Node& before = graph.node(*producer);
  if (const auto* encode = std::get_if<ir::Encode>(&before.op)) {
    if (encode->activation.kind != ir::ActivationKind::kIdentity) {
      fail(ErrorKind::kUnsupported,
           ir::describe(before) + ": no file format has a function before the encoding, found " +
               ir::to_string(encode->activation));
    }
    layer.activations = encode->encoding.get();
    layer.x = before.inputs[0];
  }
  return layer;
}

LowBitFields fields_of(const ir::Graph& graph, const ir::Node& node) {
  const LowBitLayer layer = take_apart(graph, node);
  LowBitFields fields;
  const ir::MatrixExtent weights = matrix_extent(graph.value(layer.weights_id).type.shape);
  fields.inputs = static_cast<std::int64_t>(weights.cols);
  fields.activation = activation_code(activation_after(node.op).kind).value_or(0);
  if (const ir::Arithmetic* stored = ir::arithmetic(node.op)) fields.arithmetic = *stored;
  if (layer.activations != nullptr) {
    fields.activation_bits = layer.activations->bits;
    fields.activation_offset = layer.activations->has_offset;
  }
  if (layer.weights != nullptr) {
    const MatrixEncoding& encoding = *layer.weights->encoding;
    fields.weight_bits = encoding.bits;
    fields.weight_offset = encoding.has_offset;
    fields.granularity = encoding.granularity;
    fields.group_size = static_cast<std::int64_t>(encoding.group_size);
  }
  return fields;
}

ir::Tensor activation_basis(const MatrixEncoding& encoding) {
  const auto width = static_cast<ir::Dim>(row_width(encoding));
  return ir::Tensor::from<float>({width}, to_rows(encoding));
}

ir::Tensor weight_bases(const MatrixEncoding& encoding) {
  const auto count = static_cast<ir::Dim>(encoding.num_blocks());
  const auto width = static_cast<ir::Dim>(row_width(encoding));
  return ir::Tensor::from<float>({count, width}, to_rows(encoding));
}

ir::Tensor weight_planes(const numerics::BitPlanes& codes, std::size_t row_bytes) {
  const ir::Shape shape{static_cast<ir::Dim>(codes.rows), codes.bits,
                        static_cast<ir::Dim>(row_bytes)};
  return ir::Tensor::from<std::uint8_t>(shape, to_bytes(codes.planes, row_bytes));
}

std::shared_ptr<const MatrixEncoding> read_activation_basis(const LowBitFields& fields,
                                                           const ir::Tensor& basis) {
  MatrixEncoding encoding;
  encoding.bits = static_cast<int>(fields.activation_bits);
  encoding.has_offset = fields.activation_offset;
  with_context("basis of the input", [&] {
    fill_blocks(encoding, basis);
    check_that(encoding.num_blocks() == 1, "expected one, found " + basis.shape().to_string());
  });
  return std::make_shared<const MatrixEncoding>(std::move(encoding));
}

std::shared_ptr<const MatrixEncoding> read_weight_bases(const LowBitFields& fields,
                                                       const ir::Tensor& bases) {
  MatrixEncoding encoding;
  encoding.bits = static_cast<int>(fields.weight_bits);
  encoding.has_offset = fields.weight_offset;
  encoding.granularity = fields.granularity;
  encoding.group_size = static_cast<std::size_t>(fields.group_size);
  with_context("bases of the weights", [&] { fill_blocks(encoding, bases); });
  return std::make_shared<const MatrixEncoding>(std::move(encoding));
}

void check_planes(const LowBitFields& fields, const ir::ValueType& type) {
  const ir::Shape& shape = type.shape;
  const std::int64_t row_bytes = (fields.inputs + 7) / 8;
  check_that(type.encoding.element == ir::ElementType::kUint8 && fields.inputs > 0 &&
                 shape.rank() == 3 && shape[1] == fields.weight_bits && shape[2] == row_bytes,
             "bit planes: expected uint8 [outputs, " + std::to_string(fields.weight_bits) + ", " +
                 std::to_string(row_bytes) + "] for " + std::to_string(fields.inputs) +
                 " inputs, found " + type.to_string());
}

ir::EncodedTensor read_planes(const LowBitFields& fields,
                              std::shared_ptr<const MatrixEncoding> encoding,
                              const ir::Tensor& planes) {
  const ir::Dim outputs = planes.shape()[0];
  const auto rows = static_cast<std::size_t>(outputs);
  const auto cols = static_cast<std::size_t>(fields.inputs);
  encoding->check(rows, cols);
  numerics::BitPlanes codes(rows, cols, encoding->bits);
  const std::size_t bit_rows = rows * static_cast<std::size_t>(encoding->bits);
  const std::size_t row_bytes = bit_rows == 0 ? (cols + 7) / 8 : planes.bytes().size() / bit_rows;
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(planes.bytes().data()),
                        planes.bytes().size());
  codes.planes = bits_from_bytes(bytes, bit_rows, cols, row_bytes);
  return {{outputs, fields.inputs}, std::move(encoding), std::move(codes)};
}

}  // namespace halftone::formats
