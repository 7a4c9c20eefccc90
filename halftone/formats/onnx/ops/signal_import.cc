// SPDX-License-Identifier: Apache-2.0
// Fourier transforms; see fourier.h.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/fourier.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using ir::ValueId;

ir::Tensor matrix_of(NodeBuilder& node, const FourierTransform& t) {
  ir::Tensor matrix = node.allocate(ir::ElementType::kFloat32,
                                    {t.inputs * t.input_parts, t.outputs * t.output_parts});
  fill_fourier_matrix(t, matrix.as<float>());
  return matrix;
}

/// Transforms [.., inputs, input_parts] to [.., outputs, output_parts].
ValueId transformed(NodeBuilder& node, ValueId x, const FourierTransform& t) {
  const auto given = node.type(x).shape.dims();
  std::vector<Dim> dims(given.begin(), given.end() - 2);
  dims.push_back(t.inputs * t.input_parts);
  const ValueId flat = node.reshape(x, ir::Shape(dims));
  const ValueId y = node.emit(ir::MatMul{}, {flat, node.add_constant(matrix_of(node, t))});
  dims.back() = t.outputs;
  dims.push_back(t.output_parts);
  return node.reshape(y, ir::Shape(std::move(dims)));
}

constexpr Dim kMaxLength = Dim{1} << 20;

Dim checked_length(Dim length) {
  if (length >= 1 && length <= kMaxLength) return length;
  fail(ErrorKind::kShape,
       "a transform of " + std::to_string(length) + " points: expected 1 to 2^20");
}

void require_parts(NodeBuilder& node, ValueId x) {
  const ir::Shape& shape = node.type(x).shape;
  if (shape.rank() >= 2 && (shape.back() == 1 || shape.back() == 2)) return;
  fail(ErrorKind::kShape,
       "expected a last axis of 1 (real) or 2 (complex), found " + shape.to_string());
}

std::size_t transform_axis(NodeBuilder& node, std::size_t rank) {
  std::int64_t axis = node.opset() < 20 ? node.int_attribute("axis", 1) : -2;
  if (node.opset() >= 20 && node.has_input(2)) axis = number_input(node, 2);
  const std::size_t found = ir::normalized_axis(axis, rank);
  if (found + 1 == rank) fail(ErrorKind::kShape, "cannot transform the parts of complex numbers");
  return found;
}

void build_dft(NodeBuilder& node) {
  ValueId x = node.input(0);
  require_parts(node, x);
  const std::size_t rank = node.type(x).shape.rank();
  const std::size_t axis = transform_axis(node, rank);
  std::vector<std::size_t> order = all_axes(rank);
  std::swap(order[axis], order[rank - 2]);
  x = emit_transpose(node, order, x);
  const ir::Shape shape = node.type(x).shape;
  if (ir::is_batch(shape[rank - 2])) NodeBuilder::unsupported("cannot transform the batch");
  FourierTransform t;
  const bool onesided = node.int_attribute("onesided", 0) != 0;
  t.inverse = node.int_attribute("inverse", 0) != 0;
  t.mirrors = t.inverse && onesided;
  t.input_parts = shape.back();
  t.output_parts = t.mirrors ? 1 : 2;
  t.length = t.mirrors ? 2 * (shape[rank - 2] - 1) : shape[rank - 2];
  if (node.has_input(1)) t.length = number_input(node, 1);
  checked_length(t.length);
  t.outputs = onesided && !t.inverse ? t.length / 2 + 1 : t.length;
  t.inputs = std::min(shape[rank - 2], t.mirrors ? t.length / 2 + 1 : t.length);
  if (t.inputs < shape[rank - 2]) {
    x = node.emit(ir::Slice{rank - 2, 0, 1, static_cast<std::size_t>(t.inputs)}, {x});
  }
  node.set_output(0, emit_transpose(node, order, transformed(node, x, t)));
}

/// The frames [batch, frames, size, parts] of a signal [batch, length, parts].
ValueId frames_of(NodeBuilder& node, ValueId x, Dim size, Dim step) {
  const Dim length = node.type(x).shape[1];
  const bool is_open = ir::is_expression(length);
  if (step < 1 || size < 1 || (length < size && !is_open)) {
    fail(ErrorKind::kShape, "frames of " + std::to_string(size) + " at steps of " +
                                std::to_string(step) + " do not fit " +
                                node.type(x).shape.to_string());
  }
  if (is_open) {
    const Dim count = checked_dim((ir::extent_of(length) - size).over(step) + 1);
    const auto whole = [&](Dim n) {
      return counting(node, ir::extent_of(n), ir::ElementType::kInt64);
    };
    const ValueId stride = node.add_scalar(static_cast<double>(step), ir::ElementType::kInt64);
    const ValueId first = emit_binary(node, ir::BinaryKind::kMul, whole(count), stride);
    const ValueId at =
        emit_binary(node, ir::BinaryKind::kAdd, node.reshape(first, {count, 1}), whole(size));
    return node.emit(ir::Gather{1}, {x, at});
  }
  const Dim count = 1 + (length - size) / step;
  ir::Tensor indices = node.allocate(ir::ElementType::kInt64, {count, size});
  const auto values = indices.as<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<Dim>(i);
    values[i] = at / size * step + at % size;
  }
  return node.emit(ir::Gather{1}, {x, node.add_constant(std::move(indices))});
}

void build_stft(NodeBuilder& node) {
  constexpr std::size_t kWindow = 2;
  constexpr std::size_t kLength = 3;
  const ValueId x = node.input(0);
  require_parts(node, x);
  if (node.type(x).shape.rank() != 3) {
    fail(ErrorKind::kShape,
         "expected [batch, length, parts], found " + node.type(x).shape.to_string());
  }
  const Dim step = number_input(node, 1);
  Dim length = node.type(x).shape[1];
  if (node.has_input(kWindow)) length = node.input_type(kWindow).shape[0];
  const Dim size = length;
  if (node.has_input(kLength)) length = number_input(node, kLength);
  checked_length(length);
  ValueId frames = frames_of(node, x, std::min(size, length), step);
  if (node.has_input(kWindow)) {
    const ValueId window = node.reshape(node.input(kWindow), {size, 1});
    if (size > length) NodeBuilder::unsupported("a window that is longer than its frame");
    frames = emit_binary(node, ir::BinaryKind::kMul, frames, window);
  }
  FourierTransform t;
  t.length = length;
  t.inputs = std::min(size, length);
  t.outputs = node.int_attribute("onesided", 1) != 0 ? length / 2 + 1 : length;
  t.input_parts = node.type(x).shape.back();
  node.set_output(0, transformed(node, frames, t));
}

constexpr ReaderEntry kSignalReaders[] = {
    {"", "DFT", build_dft},
    {"", "STFT", build_stft},
};

}  // namespace

std::span<const ReaderEntry> signal_readers() { return kSignalReaders; }

}  // namespace halftone::formats::onnx
