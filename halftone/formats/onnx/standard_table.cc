// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <utility>
#include <vector>

#include "halftone/formats/onnx/standard_weight.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ValueId;
using numerics::MatrixEncoding;

Dim dim(std::size_t extent) { return static_cast<Dim>(extent); }

/// Bits of a field that holds a code.
std::size_t field_bits(int bits) {
  std::size_t field = 1;
  while (field < static_cast<std::size_t>(bits)) field *= 2;
  return field;
}

/// Columns up to the end of the last group.
std::size_t whole_cols(const ir::EncodedTensor& weights) {
  const std::size_t cols = weights.codes.cols;
  const std::size_t groups = weights.encoding->groups_per_row(cols);
  return groups > 1 ? groups * weights.encoding->group_size : cols;
}

/// The codes row by row, those of a byte in its fields from the lowest on.
/// @param cols  of a row, with missing ones
ir::Tensor packed_codes(const numerics::BitPlanes& codes, std::size_t cols, std::size_t field) {
  const std::size_t per_byte = 8 / field;
  const std::size_t count = codes.rows * cols;
  const std::size_t bytes = (count + per_byte - 1) / per_byte;
  ir::Tensor packed(ir::ElementType::kUint8, {dim(bytes), 1});
  const auto to = packed.as<std::uint8_t>();
  for (std::size_t i = 0; i < count; ++i) {
    if (i % cols >= codes.cols) continue;
    const auto code = static_cast<unsigned>(codes.code(i / cols, i % cols));
    to[i / per_byte] = static_cast<std::uint8_t>(to[i / per_byte] | code << (i % per_byte * field));
  }
  return packed;
}

/// Nodes of one constant.
class Table {
 public:
  Table(ir::Graph& graph, std::string name, const ir::EncodedTensor& weights)
      : graph_(graph), name_(std::move(name)), weights_(weights), encoding_(*weights.encoding) {}

  ValueId build() {
    const std::size_t rows = weights_.codes.rows;
    const std::size_t cols = whole_cols(weights_);
    const std::size_t blocks = encoding_.num_blocks();
    const ir::Shape matrix{dim(blocks), dim(rows * cols / blocks)};
    const ValueId codes = add("codes", ir::Cast{ir::ElementType::kInt32}, {add_codes(matrix)});
    ValueId values = encoding_.codebook == nullptr ? look_up(codes) : scaled(codes);
    if (cols != weights_.codes.cols) {
      values = add("rows", ir::Reshape{ir::Shape{dim(rows), dim(cols)}}, {values});
      values = add("columns", ir::Slice{1, 0, 1, weights_.codes.cols}, {values});
    }
    return add("weights", ir::Reshape{weights_.shape}, {values});
  }

 private:
  ValueId add(const std::string& what, ir::Operator op, std::vector<ValueId> inputs) {
    return graph_.add_node(name_ + "/" + what, std::move(op), std::move(inputs));
  }
  ValueId constant(const std::string& what, ir::Tensor tensor) {
    return graph_.add_constant(name_ + "/" + what, std::move(tensor));
  }
  ValueId floats(const std::string& what, const ir::Shape& shape, std::span<const float> values) {
    return constant(what, ir::Tensor::from<float>(shape, values));
  }

  /// The codes of each block, as bytes.
  ValueId add_codes(const ir::Shape& matrix) {
    const std::size_t field = field_bits(encoding_.bits);
    ValueId bytes = constant("packed", packed_codes(weights_.codes, whole_cols(weights_), field));
    const std::size_t count = weights_.codes.rows * whole_cols(weights_);
    if (field < 8) {
      std::vector<std::uint8_t> shifts;
      for (std::size_t shift = 0; shift < 8; shift += field) {
        shifts.push_back(static_cast<std::uint8_t>(shift));
      }
      const std::uint8_t mask[] = {static_cast<std::uint8_t>((1U << field) - 1)};
      const ir::Shape row{1, dim(shifts.size())};
      const ValueId places = constant("shifts", ir::Tensor::from<std::uint8_t>(row, shifts));
      const ValueId lowest = constant("mask", ir::Tensor::from<std::uint8_t>({1, 1}, mask));
      bytes = add("shifted", ir::Binary{BinaryKind::kShiftRight, {}}, {bytes, places});
      bytes = add("fields", ir::Binary{BinaryKind::kAnd, {}}, {bytes, lowest});
    }
    const std::size_t fields = graph_.value(bytes).type.shape.element_count();
    if (fields != count) {
      bytes = add("flat", ir::Reshape{ir::Shape{dim(fields)}}, {bytes});
      bytes = add("some", ir::Slice{0, 0, 1, count}, {bytes});
    }
    return add("matrix", ir::Reshape{matrix}, {bytes});
  }

  ValueId look_up(ValueId codes) {
    std::vector<float> values;
    for (std::size_t block = 0; block < encoding_.num_blocks(); ++block) {
      const numerics::Levels levels = encoding_.levels(block);
      for (std::size_t code = 0; code < levels.num_codes(); ++code) {
        values.push_back(levels.value(static_cast<numerics::Code>(code)));
      }
    }
    const ir::Shape shape{dim(encoding_.num_blocks()), Dim{1} << encoding_.bits};
    return add("values", ir::GatherElements{1}, {floats("table", shape, values), codes});
  }

  ValueId scaled(ValueId codes) {
    const std::span<const float> levels = encoding_.codebook->levels();
    const ir::Shape column{dim(encoding_.num_blocks()), 1};
    const auto numbers = [](const numerics::StoredNumbers& stored) {
      std::vector<float> all;
      for (std::size_t i = 0; i < stored.size(); ++i) all.push_back(stored[i]);
      return all;
    };
    ValueId x =
        add("level", ir::Gather{0}, {floats("levels", {dim(levels.size())}, levels), codes});
    x = add("scaled", ir::Binary{BinaryKind::kMul, {}},
            {x, floats("scales", column, numbers(encoding_.scales))});
    if (!encoding_.has_offset) return x;
    return add("shifted_values", ir::Binary{BinaryKind::kAdd, {}},
               {x, floats("offsets", column, numbers(encoding_.offsets))});
  }

  ir::Graph& graph_;
  std::string name_;
  const ir::EncodedTensor& weights_;
  const MatrixEncoding& encoding_;
};

}  // namespace

std::string why_no_table(const ir::EncodedTensor& weights) {
  return weights.encoding->bits > 8 ? "codes of more than 8 bits" : "";
}

std::size_t table_bits(const ir::EncodedTensor& weights) {
  const MatrixEncoding& encoding = *weights.encoding;
  const std::size_t numbers = encoding.codebook == nullptr
                                  ? encoding.num_blocks() << encoding.bits
                                  : encoding.scales.size() + encoding.offsets.size();
  return field_bits(encoding.bits) * weights.codes.rows * whole_cols(weights) + 32 * numbers;
}

ir::ValueId add_table(ir::Graph& graph, const std::string& name, const ir::EncodedTensor& weights) {
  return Table(graph, name, weights).build();
}

}  // namespace halftone::formats::onnx
