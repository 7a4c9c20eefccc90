// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of images. Complex numbers are float32 with a last axis of two.
#include <algorithm>
#include <numeric>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/formats/fourier.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::ValueId;

/// The first `count` elements along an axis.
ValueId shortened(OperatorImport& op, ValueId x, std::size_t axis, Dim count) {
  const Dim extent = op.shape(x)[axis];
  if (extent < 0) fail(ErrorKind::kShape, "a transform along an open extent");
  if (extent <= count) return x;
  return op.step(ir::Slice{axis, 0, 1, static_cast<std::size_t>(count)}, {x}, "part");
}

/// Transforms [.., inputs, input_parts] to [.., outputs, 2].
ValueId transformed(OperatorImport& op, ValueId x, const FourierTransform& t) {
  const ir::Shape shape = op.shape(x);
  const Dim rows = t.inputs * t.input_parts;
  const Dim cols = t.outputs * t.output_parts;
  op.importer().charge(static_cast<std::size_t>(rows * cols) * sizeof(float));
  ir::Tensor matrix(ir::ElementType::kFloat32, {rows, cols});
  fill_fourier_matrix(t, matrix.as<float>());
  std::vector<Dim> dims(shape.dims().begin(), shape.dims().end() - 2);
  dims.push_back(rows);
  const ValueId flat = op.step(ir::Reshape{ir::Shape(dims)}, {x}, "flat");
  const ValueId y =
      op.step(ir::MatMul{}, {flat, op.graph().add_constant("matrix", std::move(matrix))}, "sums");
  dims.back() = t.outputs;
  dims.push_back(t.output_parts);
  return op.step(ir::Reshape{ir::Shape(std::move(dims))}, {y}, "transformed");
}

/// [.., h, w] cut or filled with zeros to two lengths, as [.., h, w / 2 + 1] complex numbers.
void import_rfft_2d(OperatorImport& op) {
  constexpr Dim kMaxLength = Dim{1} << 16;
  ValueId x = op.number(0);
  const std::vector<std::int64_t> lengths = op.integers(1);
  const std::size_t rank = op.shape(x).rank();
  const auto is_length = [](Dim length) { return length >= 1 && length <= kMaxLength; };
  check(rank >= 2 && lengths.size() == 2 && std::ranges::all_of(lengths, is_length),
        "expected at least two axes and two lengths of 1 to 2^16");
  x = shortened(op, shortened(op, x, rank - 2, lengths[0]), rank - 1, lengths[1]);
  const ir::Shape shape = op.shape(x);
  std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
  dims.push_back(1);
  x = op.step(ir::Reshape{ir::Shape(std::move(dims))}, {x}, "parts");
  FourierTransform t;
  t.length = lengths[1];
  t.inputs = shape[rank - 1];
  t.outputs = lengths[1] / 2 + 1;
  t.input_parts = 1;
  x = transformed(op, x, t);
  if (lengths[0] > 1) {
    std::vector<std::size_t> order(rank + 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::swap(order[rank - 1], order[rank - 2]);
    const FourierTransform columns{lengths[0], shape[rank - 2], lengths[0]};
    x = transformed(op, op.step(ir::Transpose{order}, {x}, "columns"), columns);
    x = op.step(ir::Transpose{order}, {x}, "rows");
  }
  op.importer().define(op.output_tensor(0), x);
}

void import_complex_abs(OperatorImport& op) {
  const ValueId x = op.importer().complex(op.input_tensor(0));
  op.emit(ir::Reduce{ir::ReduceKind::kL2, {op.shape(x).rank() - 1}, false}, {x});
}

template <std::size_t part>
void import_part(OperatorImport& op) {
  const ValueId x = op.importer().complex(op.input_tensor(0));
  const ir::Shape shape = op.shape(x);
  const ValueId one = op.step(ir::Slice{shape.rank() - 1, part, 1, 1}, {x}, "part");
  op.emit(ir::Reshape{ir::Shape({shape.dims().begin(), shape.dims().end() - 1})}, {one});
}

constexpr ImportEntry kSignalImports[] = {
    {OperatorCode::kRfft2d, import_rfft_2d},
    {OperatorCode::kComplexAbs, import_complex_abs},
    {OperatorCode::kReal, import_part<0>},
    {OperatorCode::kImag, import_part<1>},
};

}  // namespace

std::span<const ImportEntry> signal_imports() { return kSignalImports; }

bool moves_complex(OperatorImport& op) {
  const FileModel& file = op.importer().file();
  return op.has_input(0) &&
         file.tensor(op.output_tensor(0)).type() == schema::TensorType::COMPLEX64;
}

}  // namespace halftone::formats::circle
