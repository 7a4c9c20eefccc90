// SPDX-License-Identifier: Apache-2.0
// Fourier transforms; see fourier.h.
#include <algorithm>
#include <numbers>
#include <string>
#include <utility>
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

/// A transform whose extents may be open.
struct OpenTransform {
  Extent length;
  Extent inputs;
  Extent outputs;
  FourierTransform form;  ///< the rest
};

/// Cosines and sines of 2 pi n k / length, float32 [inputs, outputs], as of a transform of one
/// number: times 1 / length or more for an inverse one, and with the sign of the sine.
std::pair<ValueId, ValueId> open_roots(NodeBuilder& node, const OpenTransform& t) {
  using ir::ActivationKind;
  using ir::BinaryKind;
  const auto whole = [&](const Extent& n) { return extent_value(node, n, "extent"); };
  const ValueId n = counting_along(node, 0, 2, t.inputs, ir::ElementType::kInt64);
  const ValueId k = counting_along(node, 1, 2, t.outputs, ir::ElementType::kInt64);
  const ValueId length = whole(t.length);
  const ValueId turns =
      emit_binary(node, BinaryKind::kMod, emit_binary(node, BinaryKind::kMul, n, k), length);
  const ValueId twice = emit_binary(node, BinaryKind::kMul, turns, whole(2));
  const ValueId nearest = emit_where(node, emit_binary(node, BinaryKind::kGreater, twice, length),
                                     emit_binary(node, BinaryKind::kSub, turns, length), turns);
  const ValueId real_length = extent_real(node, t.length, "length");
  const ValueId unit = emit_binary(node, BinaryKind::kDiv,
                                   node.add_scalar(2 * std::numbers::pi_v<float>), real_length);
  const ValueId angle = emit_binary(node, BinaryKind::kMul,
                                    emit_cast(node, ir::ElementType::kFloat32, nearest), unit);
  ValueId cosine = emit_unary(node, ActivationKind::kCos, angle);
  ValueId sine = emit_unary(node, ActivationKind::kSin, angle);
  if (!t.form.inverse) return {cosine, emit_unary(node, ActivationKind::kNeg, sine)};
  ValueId weight = emit_binary(node, BinaryKind::kDiv, node.add_scalar(1.0F), real_length);
  if (t.form.mirrors) {
    const ValueId mirrored = emit_binary(node, BinaryKind::kMul, n, whole(2));
    const ValueId is_alone =
        emit_binary(node, BinaryKind::kOr, emit_binary(node, BinaryKind::kEqual, n, whole(0)),
                    emit_binary(node, BinaryKind::kEqual, mirrored, length));
    weight = emit_where(node, is_alone, weight,
                        emit_binary(node, BinaryKind::kMul, weight, node.add_scalar(2.0F)));
  }
  cosine = emit_binary(node, BinaryKind::kMul, cosine, weight);
  return {cosine, emit_binary(node, BinaryKind::kMul, sine, weight)};
}

/// The matrix [inputs input_parts, outputs output_parts] of a transform of open extents.
ValueId open_matrix(NodeBuilder& node, const OpenTransform& t) {
  const auto [cosine, sine] = open_roots(node, t);
  const auto row = [&](ValueId first, ValueId second) {
    std::vector<ValueId> parts = {unsqueezed(node, first, 2)};
    if (t.form.output_parts == 2) parts.push_back(unsqueezed(node, second, 2));
    const ValueId joined = parts.size() == 1 ? parts[0] : node.emit(ir::Concat{2}, parts);
    return unsqueezed(node, joined, 1);
  };
  std::vector<ValueId> rows = {row(cosine, sine)};
  if (t.form.input_parts == 2) {
    rows.push_back(row(emit_unary(node, ir::ActivationKind::kNeg, sine), cosine));
  }
  const ValueId all = rows.size() == 1 ? rows[0] : node.emit(ir::Concat{1}, rows);
  return node.reshape(all, {checked_dim(t.inputs * t.form.input_parts),
                            checked_dim(t.outputs * t.form.output_parts)});
}

/// Transforms [.., inputs, input_parts] of open extents to [.., outputs, output_parts].
ValueId open_transformed(NodeBuilder& node, ValueId x, const OpenTransform& t) {
  const auto given = node.type(x).shape.dims();
  std::vector<Dim> dims(given.begin(), given.end() - 2);
  dims.push_back(checked_dim(t.inputs * t.form.input_parts));
  const ValueId flat = node.reshape(x, ir::Shape(dims));
  const ValueId y = node.emit(ir::MatMul{}, {flat, open_matrix(node, t)});
  dims.back() = checked_dim(t.outputs);
  dims.push_back(t.form.output_parts);
  return node.reshape(y, ir::Shape(std::move(dims)));
}

/// The number of points of a transform of an extent: as stated, or its own.
Extent stated_length(NodeBuilder& node, const Extent& extent, bool mirrors) {
  if (!node.has_input(1)) return mirrors ? (extent - 1) * 2 : extent;
  const auto known = node.extents(1);
  if (known && known->values.size() == 1) return known->values[0];
  return number_input(node, 1);
}

OpenTransform stated_transform(NodeBuilder& node, const ir::Shape& shape) {
  const Extent extent = ir::extent_of(shape[shape.rank() - 2]);
  const bool onesided = node.int_attribute("onesided", 0) != 0;
  OpenTransform t;
  t.form.inverse = node.int_attribute("inverse", 0) != 0;
  t.form.mirrors = t.form.inverse && onesided;
  t.form.input_parts = shape.back();
  t.form.output_parts = t.form.mirrors ? 1 : 2;
  t.length = stated_length(node, extent, t.form.mirrors);
  if (const auto number = t.length.number()) checked_length(*number);
  const Extent half = t.length.over(2) + 1;
  t.outputs = onesided && !t.form.inverse ? half : t.length;
  t.inputs = Extent::least(extent, t.form.mirrors ? half : t.length);
  return t;
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
  if (ir::depends_on_batch(shape[rank - 2])) NodeBuilder::unsupported("cannot transform the batch");
  OpenTransform t = stated_transform(node, shape);
  if (t.inputs != ir::extent_of(shape[rank - 2])) {
    x = node.emit(ir::Slice{rank - 2, 0, 1, static_cast<std::size_t>(checked_dim(t.inputs))}, {x});
  }
  const auto length = t.length.number();
  const auto inputs = t.inputs.number();
  ValueId y{};
  if (length && inputs) {
    t.form.length = *length;
    t.form.inputs = *inputs;
    t.form.outputs = *t.outputs.number();
    y = transformed(node, x, t.form);
  } else {
    y = open_transformed(node, x, t);
  }
  node.set_output(0, emit_transpose(node, order, y));
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
  ValueId x = node.input(0);
  if (node.type(x).shape.rank() == 2) x = unsqueezed(node, x, 2);  // PyTorch writes real numbers so
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
