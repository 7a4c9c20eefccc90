// SPDX-License-Identifier: Apache-2.0
// Rotary embedding, decomposed into products and sums.
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/attention.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ValueId;

/// x cos - y sin and x sin + y cos.
std::pair<ValueId, ValueId> rotated(NodeBuilder& node, ValueId x, ValueId y, ValueId cos,
                                    ValueId sin) {
  const auto product = [&](ValueId a, ValueId b) {
    return emit_binary(node, BinaryKind::kMul, a, b);
  };
  return {emit_binary(node, BinaryKind::kSub, product(x, cos), product(y, sin)),
          emit_binary(node, BinaryKind::kAdd, product(x, sin), product(y, cos))};
}

ValueId part(NodeBuilder& node, ValueId x, std::size_t begin, std::int64_t step, ir::Dim count) {
  const std::size_t last = node.type(x).shape.rank() - 1;
  return node.emit(ir::Slice{last, begin, step, static_cast<std::size_t>(count)}, {x});
}

/// The rows of a table at the given positions, as [batch, steps, 1, size].
ValueId angles(NodeBuilder& node, std::size_t input) {
  ValueId table = node.input(input);
  if (node.has_input(3)) table = node.emit(ir::Gather{0}, {table, node.input(3)});
  if (node.type(table).shape.rank() != 3) {
    fail(ErrorKind::kShape, "input " + std::to_string(input) +
                                ": expected angles of every step, found " +
                                node.type(table).shape.to_string());
  }
  return unsqueezed(node, table, 2);
}

void build_rotary_embedding(NodeBuilder& node) {
  const ValueId given = node.input(0);
  const ir::Shape given_shape = node.type(given).shape;
  const bool flat = given_shape.rank() == 3;
  if (!flat && given_shape.rank() != 4) {
    fail(ErrorKind::kShape, "expected 3 or 4 axes, found " + given_shape.to_string());
  }
  const ValueId x = flat ? with_heads(node, given, node.int_attribute("num_heads", 0))
                         : emit_transpose(node, {0, 2, 1, 3}, given);
  const ir::Shape shape = node.type(x).shape;
  const std::int64_t wanted = node.int_attribute("rotary_embedding_dim", 0);
  const std::int64_t size = wanted == 0 ? shape[3] : wanted;
  if (size < 2 || size > shape[3] || size % 2 != 0) {
    fail(ErrorKind::kShape, "rotary_embedding_dim: expected an even number from 2 to " +
                                std::to_string(shape[3]) + ", found " + std::to_string(size));
  }
  const ir::Dim half = size / 2;
  const bool interleaved = node.int_attribute("interleaved", 0) != 0;
  const ValueId first = part(node, x, 0, interleaved ? 2 : 1, half);
  const ValueId second =
      part(node, x, interleaved ? 1 : static_cast<std::size_t>(half), interleaved ? 2 : 1, half);
  auto [real, imaginary] = rotated(node, first, second, angles(node, 1), angles(node, 2));
  ValueId y = ir::kAbsent;
  if (interleaved) {
    const ValueId pairs =
        node.emit(ir::Concat{4}, {unsqueezed(node, real, 4), unsqueezed(node, imaginary, 4)});
    y = node.reshape(pairs, {shape[0], shape[1], shape[2], size});
  } else {
    y = node.emit(ir::Concat{3}, {real, imaginary});
  }
  if (size < shape[3]) {
    const ValueId rest = part(node, x, static_cast<std::size_t>(size), 1, shape[3] - size);
    y = node.emit(ir::Concat{3}, {y, rest});
  }
  node.set_output(0, flat ? node.reshape(y, given_shape) : emit_transpose(node, {0, 2, 1, 3}, y));
}

constexpr ReaderEntry kRotaryReaders[] = {
    {"", "RotaryEmbedding", build_rotary_embedding},
};

}  // namespace

std::span<const ReaderEntry> rotary_readers() { return kRotaryReaders; }

}  // namespace halftone::formats::onnx
