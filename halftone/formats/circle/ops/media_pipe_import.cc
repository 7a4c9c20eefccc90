// SPDX-License-Identifier: Apache-2.0
// MediaPipe's custom operators that pool the largest elements and put them back.
// Source: mediapipe/util/tflite/operations/max_pool_argmax.cc and max_unpooling.cc
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {

namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

/// The options as TensorFlow Lite's struct TfLitePoolParams has them in memory.
struct Pooling {
  bool is_same = false;  ///< padded for ceil(extent / stride) windows, else not
  std::array<Dim, 2> strides{};
  std::array<Dim, 2> kernel{};
  ir::Activation activation;
};

Pooling pooling_of(OperatorImport& op) {
  std::array<std::int32_t, 6> fields = {};  // padding, strides w, h, kernel w, h, activation
  const auto bytes = std::as_bytes(elements(op.table().custom_options()));
  check(bytes.size() >= sizeof(fields), "has no options");
  std::memcpy(fields.data(), bytes.data(), sizeof(fields));
  check(fields[0] == 1 || fields[0] == 2, "unknown padding");
  constexpr std::int32_t kMax = 1 << 16;
  for (std::size_t i = 1; i < 5; ++i) {
    check(fields[i] >= 1 && fields[i] <= kMax, "expected strides and a window of 1 to 2^16");
  }
  if (fields[5] < 0 || fields[5] > 3) fail(ErrorKind::kUnsupported, "an activation of pooling");
  return {fields[0] == 1,
          {fields[2], fields[1]},
          {fields[4], fields[3]},
          fused_activation(static_cast<schema::ActivationFunctionType>(fields[5]))};
}

/// The extents of an image [N, h, w, C].
ir::Shape image_shape(OperatorImport& op, ValueId x) {
  ir::Shape shape = op.shape(x);
  check(shape.rank() == 4 && shape[1] > 0 && shape[2] > 0 && shape[3] > 0,
        "expected an image [N, h, w, C], found " + shape.to_string());
  return shape;
}

/// The padding in front of `windows` windows over an extent.
Dim padding_before(const Pooling& pooling, std::size_t axis, Dim extent, Dim windows) {
  const Dim missing = (windows - 1) * pooling.strides[axis] + pooling.kernel[axis] - extent;
  return missing > 0 ? missing / 2 : 0;
}

/// Numbers f(row, col) as a constant [1, rows, cols, 1].
template <typename F>
ValueId positions(OperatorImport& op, Dim rows, Dim cols, const F& f) {
  ir::Tensor tensor(ElementType::kInt64, {1, rows, cols, 1});
  op.importer().charge(tensor.bytes().size());
  for (Dim i = 0; i < rows * cols; ++i) {
    tensor.as<std::int64_t>()[static_cast<std::size_t>(i)] = f(i / cols, i % cols);
  }
  return op.graph().add_constant("positions", std::move(tensor));
}

ValueId whole(OperatorImport& op, Dim number) {
  return op.graph().add_constant("number", ir::Tensor::from<std::int64_t>({}, {&number, 1}));
}

ValueId binary(OperatorImport& op, BinaryKind kind, ValueId a, ValueId b) {
  return op.step(ir::Binary{kind, {}}, {a, b}, std::string(ir::to_string(kind)));
}

/// The windows that a pooling has over an image.
ir::Window window_over(const Pooling& pooling, const ir::Shape& image) {
  ir::Window window{{pooling.strides[0], pooling.strides[1]}, {1, 1}, {0, 0}, {0, 0}};
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim stride = pooling.strides[i];
    const Dim taken = pooling.is_same ? 1 : pooling.kernel[i];
    check(image[i + 1] >= taken, "a window exceeds the image");
    const Dim count = (image[i + 1] - taken) / stride + 1;
    const Dim last = (count - 1) * stride + pooling.kernel[i];
    window.pads_before[i] = padding_before(pooling, i, image[i + 1], count);
    window.pads_after[i] = std::max<Dim>(0, last - image[i + 1] - window.pads_before[i]);
  }
  return window;
}

/// The largest elements, and where each is in its window: row times columns plus column plus 0.1.
void import_pool(OperatorImport& op) {
  const Pooling pooling = pooling_of(op);
  const ValueId x = op.number(0);
  const ir::Shape image = image_shape(op, x);
  const ir::Window window = window_over(pooling, image);
  const std::vector<Dim> kernel(pooling.kernel.begin(), pooling.kernel.end());
  ir::Pool pool;
  pool.kernel = kernel;
  pool.window = window;
  if (pooling.activation == ir::Activation{}) {
    op.emit(pool, {x}, 0);
  } else {
    op.emit(ir::Unary{pooling.activation}, {op.step(pool, {x}, "largest")}, 0);
  }
  ir::MaxPoolIndex index;
  index.kernel = kernel;
  index.window = window;
  const Dim width = pooling.kernel[1];
  const ValueId at = op.step(index, {x}, "at");
  const ValueId row = binary(op, BinaryKind::kDiv, at, whole(op, image[2]));
  // at = row w + col, and (row - first row) columns + col - first col is wanted.
  const ValueId moved = binary(op, BinaryKind::kAdd, at,
                               binary(op, BinaryKind::kMul, row, whole(op, width - image[2])));
  const ir::Shape counts = op.shape(at);
  const ValueId first = positions(op, counts[1], counts[2], [&](Dim i, Dim j) {
    return (i * pooling.strides[0] - window.pads_before[0]) * width + j * pooling.strides[1] -
           window.pads_before[1];
  });
  const ValueId tap = binary(op, BinaryKind::kSub, moved, first);
  const ValueId number = op.step(ir::Cast{ElementType::kFloat32}, {tap}, "tap");
  op.emit(ir::Binary{BinaryKind::kAdd, {}}, {number, op.scalar(0.1F, "tenth")}, 1);
}

/// Where elements go, [N, h, w, C] with -1 for outside, among those of a sample of the output.
ValueId destinations(OperatorImport& op, const Pooling& pooling, const ir::Shape& image) {
  const Dim rows = image[1] * pooling.kernel[0];
  const Dim cols = image[2] * pooling.kernel[1];
  const std::array<Dim, 2> before = {padding_before(pooling, 0, rows, image[1]),
                                     padding_before(pooling, 1, cols, image[2])};
  const ValueId tap = op.step(ir::Cast{ElementType::kInt64}, {op.number(1)}, "tap");
  const ValueId width = whole(op, pooling.kernel[1]);
  const ValueId tap_row = binary(op, BinaryKind::kDiv, tap, width);
  const ValueId tap_col =
      binary(op, BinaryKind::kSub, tap, binary(op, BinaryKind::kMul, tap_row, width));
  const ValueId first_row = positions(
      op, image[1], image[2], [&](Dim i, Dim /*j*/) { return i * pooling.strides[0] - before[0]; });
  const ValueId first_col = positions(
      op, image[1], image[2], [&](Dim /*i*/, Dim j) { return j * pooling.strides[1] - before[1]; });
  const ValueId row = binary(op, BinaryKind::kAdd, tap_row, first_row);
  const ValueId col = binary(op, BinaryKind::kAdd, tap_col, first_col);
  const auto inside = [&](ValueId at, Dim extent) {
    return binary(op, BinaryKind::kAnd, binary(op, BinaryKind::kGreaterOrEqual, at, whole(op, 0)),
                  binary(op, BinaryKind::kLess, at, whole(op, extent)));
  };
  const ValueId line =
      binary(op, BinaryKind::kAdd, binary(op, BinaryKind::kMul, row, whole(op, cols)), col);
  ir::Tensor channels(ElementType::kInt64, {image[3]});
  op.importer().charge(channels.bytes().size());
  for (Dim c = 0; c < image[3]; ++c) {
    channels.as<std::int64_t>()[static_cast<std::size_t>(c)] = c;
  }
  const ValueId at =
      binary(op, BinaryKind::kAdd, binary(op, BinaryKind::kMul, line, whole(op, image[3])),
             op.graph().add_constant("channels", std::move(channels)));
  const ValueId fits = binary(op, BinaryKind::kAnd, inside(row, rows), inside(col, cols));
  return op.step(ir::Where{}, {fits, at, whole(op, -1)}, "destinations");
}

/// Puts elements where indices of a pooling found them; the others are 0.
void import_unpool(OperatorImport& op) {
  const Pooling pooling = pooling_of(op);
  const ValueId x = op.number(0);
  const ir::Shape image = image_shape(op, x);
  check(op.shape(op.number(1)) == image, "expected an index for each element");
  const Dim rows = image[1] * pooling.kernel[0];
  const Dim cols = image[2] * pooling.kernel[1];
  const Dim given = image[1] * image[2] * image[3];
  const Dim count = rows * cols * image[3];
  const ValueId at =
      op.step(ir::Reshape{{image[0], given}}, {destinations(op, pooling, image)}, "indices");
  const ValueId values = op.step(ir::Reshape{{image[0], given}}, {x}, "values");
  // An element behind the last, which is cut off, takes those that lie outside.
  const ValueId zeros =
      op.step(ir::BroadcastTo{{image[0], count + 1}}, {op.scalar(0, "zero")}, "zeros");
  const ValueId all = op.step(ir::ScatterElements{1}, {zeros, at, values}, "all");
  const ValueId kept = op.step(ir::Slice{1, 0, 1, static_cast<std::size_t>(count)}, {all}, "kept");
  op.emit(ir::Reshape{{image[0], rows, cols, image[3]}}, {kept});
}

}  // namespace

ImportFunction find_media_pipe_import(std::string_view name) {
  if (name == "Convolution2DTransposeBias") return import_media_pipe_transpose_conv;
  if (name == "MaxPoolingWithArgmax2D") return import_pool;
  if (name == "MaxUnpooling2D") return import_unpool;
  if (name == "TransformLandmarks") return import_landmark_transform;
  if (name == "Landmarks2TransformMatrix") return import_landmark_matrix;
  if (name == "TransformTensor" || name == "TransformTensorBilinear") {
    return import_tensor_transform;
  }
  return nullptr;
}

}  // namespace halftone::formats::circle
