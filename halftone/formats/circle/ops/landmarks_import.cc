// SPDX-License-Identifier: Apache-2.0
// MediaPipe's custom operators that cut the part of an image around landmarks: points of an image
// as (x, y) or (x, y, z). A matrix [4, 4] maps points of the part to those of the image.
// Source: landmarks_to_transform_matrix.cc, transform_landmarks.cc and transform_tensor_bilinear.cc
// of mediapipe/util/tflite/operations
#include <algorithm>
#include <array>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

/// The steps of one operator.
class Landmarks {
 public:
  explicit Landmarks(OperatorImport& op) : op_(op) {}

  ValueId add(ir::Operator op, std::vector<ValueId> inputs) {
    return op_.step(std::move(op), std::move(inputs), std::to_string(++steps_));
  }
  ValueId binary(BinaryKind kind, ValueId a, ValueId b) {
    return add(ir::Binary{kind, {}}, {a, b});
  }
  ValueId unary(ActivationKind kind, ValueId x) { return add(ir::Unary{{kind, 0, 0}}, {x}); }
  ValueId reshape(ValueId x, ir::Shape shape) { return add(ir::Reshape{std::move(shape)}, {x}); }
  ValueId part(ValueId x, std::size_t axis, std::size_t begin, std::size_t count) {
    return add(ir::Slice{axis, begin, 1, count}, {x});
  }
  ValueId pair(float x, float y) {
    const std::array<float, 2> numbers = {x, y};
    return op_.graph().add_constant("pair", ir::Tensor::from<float>({2}, std::span(numbers)));
  }
  ValueId number(float value) { return op_.scalar(value, "number"); }

  /// Points [n, 2], each multiplied by a matrix [2, 2].
  ValueId turned(ValueId points, ValueId matrix) {
    return add(ir::MatMul{false, true}, {points, matrix});
  }
  /// The points [n, 2] of x, which has them with `dimensions` numbers each.
  ValueId points(ValueId x, Dim dimensions) {
    const ir::Shape shape = op_.shape(x);
    check(shape.is_static(), "expected known extents, found " + shape.to_string());
    const auto count = static_cast<Dim>(shape.element_count());
    check(dimensions >= 2 && count % dimensions == 0 && count > 0,
          "expected landmarks of " + std::to_string(dimensions) + " numbers, found " +
              shape.to_string());
    return reshape(x, {count / dimensions, dimensions});
  }
  /// The first two rows of input 1, [2, 4].
  ValueId matrix_rows() {
    const ValueId matrix = op_.number(1);
    const ir::Shape shape = op_.shape(matrix);
    check(shape.is_static() && shape.element_count() == 16,
          "expected a matrix [4, 4], found " + shape.to_string());
    return part(reshape(matrix, {4, 4}), 0, 0, 2);
  }
  /// Points [n, 2] mapped by the rows of a matrix, with its shift times a factor.
  ValueId mapped(ValueId points, ValueId rows, float factor) {
    ValueId shift = reshape(part(rows, 1, 3, 1), {2});
    if (factor != 1) shift = binary(BinaryKind::kMul, shift, number(factor));
    return binary(BinaryKind::kAdd, turned(points, part(rows, 1, 0, 2)), shift);
  }
  /// A matrix [2, 2] that turns points by an angle [1, 1].
  ValueId rotation(ValueId angle) {
    const ValueId c = unary(ActivationKind::kCos, angle);
    const ValueId s = unary(ActivationKind::kSin, angle);
    const ValueId first = add(ir::Concat{1}, {c, unary(ActivationKind::kNeg, s)});
    return add(ir::Concat{0}, {first, add(ir::Concat{1}, {s, c})});
  }
  /// The angle [1, 1] of a vector (x, y) [1, 2]; is_line: that of the line along it.
  ValueId angle(ValueId vector, bool is_line) {
    const ValueId x = part(vector, 1, 0, 1);
    const ValueId y = part(vector, 1, 1, 1);
    if (!is_line) return angle_of(op_, y, x);
    return unary(ActivationKind::kAtan, binary(BinaryKind::kDiv, y, x));
  }

 private:
  OperatorImport& op_;
  int steps_ = 0;
};

/// The box around some landmarks, parallel to the line from one landmark to another.
struct Box {
  ValueId rotation;  ///< [2, 2]: from the box to the image
  ValueId center;    ///< [1, 2], in the image
  ValueId size;      ///< [1, 2]
};

Box box_of(Landmarks& steps, OperatorImport& op, const LandmarkMatrixFields& fields) {
  const ValueId all = steps.part(steps.points(op.number(0), 3), 1, 0, 2);
  const Dim count = op.shape(all)[0];
  const auto check_index = [&](std::int64_t index) {
    check(index >= 0 && index < count,
          "an index of landmarks: expected one below " + std::to_string(count));
  };
  const auto landmark = [&](std::int64_t index) {
    check_index(index);
    return steps.part(all, 0, static_cast<std::size_t>(index), 1);
  };
  const ValueId vector = steps.binary(BinaryKind::kSub, landmark(fields.right_rotation_idx),
                                      landmark(fields.left_rotation_idx));
  const ValueId line = steps.angle(vector, fields.version == 1);
  const ValueId turn =
      steps.binary(BinaryKind::kSub, steps.number(fields.target_rotation_radians), line);
  const ValueId rotation = steps.rotation(turn);
  for (const std::int64_t index : fields.subset) check_index(index);
  const auto chosen = static_cast<Dim>(fields.subset.size());
  const ValueId subset = op.graph().add_constant(
      "subset", ir::Tensor::from<std::int64_t>({chosen}, std::span(fields.subset)));
  const ValueId points = steps.turned(steps.add(ir::Gather{0}, {all, subset}), rotation);
  const ValueId high = steps.add(ir::Reduce{ir::ReduceKind::kMax, {0}, true}, {points});
  const ValueId low = steps.add(ir::Reduce{ir::ReduceKind::kMin, {0}, true}, {points});
  const ValueId middle =
      steps.binary(BinaryKind::kMul, steps.binary(BinaryKind::kAdd, high, low), steps.number(0.5F));
  const ValueId back = steps.add(ir::Transpose{{1, 0}}, {rotation});
  return {back, steps.turned(middle, back), steps.binary(BinaryKind::kSub, high, low)};
}

/// The output from a matrix [2, 2] and a shift [1, 2].
void emit_matrix(Landmarks& steps, OperatorImport& op, ValueId matrix, ValueId shift) {
  check(op.importer().file().shape(op.output_tensor(0)).element_count() == 16,
        "expected a matrix [4, 4] as the output");
  const std::array<float, 8> rest = {0, 0, 1, 0, 0, 0, 0, 1};
  const ValueId none = op.graph().add_constant("none", ir::Tensor(ElementType::kFloat32, {2, 1}));
  const ValueId last =
      op.graph().add_constant("last", ir::Tensor::from<float>({2, 4}, std::span(rest)));
  const ValueId first = steps.add(ir::Concat{1}, {matrix, none, steps.reshape(shift, {2, 1})});
  op.emit(ir::Reshape{op.importer().file().shape(op.output_tensor(0))},
          {steps.add(ir::Concat{0}, {first, last})});
}

/// (extent - 1) / 2 of the width and the height.
ValueId half_extents(Landmarks& steps, const std::vector<std::int64_t>& extents) {
  return steps.pair(static_cast<float>(extents[1] - 1) / 2, static_cast<float>(extents[0] - 1) / 2);
}

/// Version 1: landmarks have a range of numbers for the whole image, whose centre is moved to.
void emit_first_version(Landmarks& steps, OperatorImport& op, const LandmarkMatrixFields& fields,
                        const Box& box) {
  const auto range = static_cast<float>(fields.landmarks_range);
  const ValueId size =
      steps.binary(BinaryKind::kMul, box.size, steps.number(fields.bbox_size_multiplier / range));
  const ValueId image = half_extents(steps, fields.input_hw);
  // Rows of the rotation times the image, columns times the size.
  const ValueId sized = steps.binary(BinaryKind::kMul, box.rotation, size);
  const ValueId absolute = steps.binary(BinaryKind::kMul, sized, steps.reshape(image, {2, 1}));
  const ValueId matrix =
      steps.binary(BinaryKind::kDiv, absolute, half_extents(steps, fields.output_hw));
  const ValueId center = steps.binary(BinaryKind::kMul, box.center, steps.number(2 / range));
  const ValueId corner = steps.turned(steps.reshape(steps.pair(1, 1), {1, 2}), absolute);
  const ValueId middle = steps.binary(BinaryKind::kMul, center, image);
  emit_matrix(steps, op, matrix, steps.binary(BinaryKind::kSub, middle, corner));
}

void emit_second_version(Landmarks& steps, OperatorImport& op, const LandmarkMatrixFields& fields,
                         const Box& box) {
  const auto height = static_cast<float>(fields.output_hw[0]);
  const auto width = static_cast<float>(fields.output_hw[1]);
  const ValueId scale = steps.binary(BinaryKind::kMul, box.size,
                                     steps.pair(fields.scale_x / width, fields.scale_y / height));
  const ValueId matrix = steps.binary(BinaryKind::kMul, box.rotation, scale);
  const ValueId corner =
      steps.turned(steps.reshape(steps.pair(width / 2, height / 2), {1, 2}), matrix);
  emit_matrix(steps, op, matrix, steps.binary(BinaryKind::kSub, box.center, corner));
}

}  // namespace

void import_landmark_matrix(OperatorImport& op) {
  const auto options = std::as_bytes(elements(op.table().custom_options()));
  const LandmarkMatrixFields fields = read_landmark_matrix_options(options, op.version());
  Landmarks steps(op);
  const Box box = box_of(steps, op, fields);
  fields.version == 1 ? emit_first_version(steps, op, fields, box)
                      : emit_second_version(steps, op, fields, box);
}

/// Maps the x and y of landmarks; z stays.
void import_landmark_transform(OperatorImport& op) {
  const auto options = std::as_bytes(elements(op.table().custom_options()));
  const ValueId x = op.number(0);
  const ir::Shape shape = op.shape(x);
  LandmarkTransformFields fields;
  if (op.version() == 1) {
    fields = read_landmark_transform_options(options);
  } else {
    check(shape.rank() == 3, "expected landmarks [1, n, 2 or 3], found " + shape.to_string());
    fields.dimensions = shape[2];
  }
  check(fields.dimensions == 2 || fields.dimensions == 3, "expected landmarks of 2 or 3 numbers");
  Landmarks steps(op);
  const ValueId points = steps.points(x, fields.dimensions);
  const ValueId xy = steps.mapped(steps.part(points, 1, 0, 2), steps.matrix_rows(), fields.scale);
  if (fields.dimensions == 2) return op.emit(ir::Reshape{shape}, {xy});
  const ValueId z = steps.part(points, 1, 2, 1);
  op.emit(ir::Reshape{shape}, {steps.add(ir::Concat{1}, {xy, z})});
}

/// The part of an image that a matrix maps to; 0 where it lies outside of the image.
void import_tensor_transform(OperatorImport& op) {
  const auto options = std::as_bytes(elements(op.table().custom_options()));
  const TensorTransformFields fields = read_tensor_transform_options(options, op.version());
  const ValueId x = op.number(0);
  const ir::Shape image = op.shape(x);
  check(image.rank() == 4 && image[0] == 1 && image[1] > 0 && image[2] > 0,
        "expected an image [1, h, w, C], found " + image.to_string());
  const Dim height = fields.height;
  const Dim width = fields.width;
  const float moved = op.version() == 1 ? 0 : 0.5F;  // centres of elements, or their corners
  ir::Tensor targets(ElementType::kFloat32, {height * width, 2});
  op.importer().charge(targets.bytes().size());
  for (Dim i = 0; i < height * width; ++i) {
    const auto at = static_cast<std::size_t>(2 * i);
    const Dim row = i / width;
    targets.as<float>()[at] = static_cast<float>(i - row * width) + moved;
    targets.as<float>()[at + 1] = static_cast<float>(row) + moved;
  }
  Landmarks steps(op);
  const ValueId sources =
      steps.mapped(op.graph().add_constant("targets", std::move(targets)), steps.matrix_rows(), 1);
  const ValueId at =
      moved == 0 ? sources : steps.binary(BinaryKind::kSub, sources, steps.number(moved));
  const auto cols = static_cast<float>(image[2] - 1);
  const auto rows = static_cast<float>(image[1] - 1);
  const ValueId fits =
      steps.binary(BinaryKind::kAnd, steps.binary(BinaryKind::kGreaterOrEqual, at, steps.number(0)),
                   steps.binary(BinaryKind::kLessOrEqual, at, steps.pair(cols, rows)));
  const ValueId is_inside = steps.reshape(
      steps.add(ir::Reduce{ir::ReduceKind::kMin, {1}, true}, {fits}), {1, height, width, 1});
  // The grid has -1 and 1 at the ends of an axis.
  const ValueId scales = steps.pair(cols > 0 ? 2 / cols : 0, rows > 0 ? 2 / rows : 0);
  const ValueId grid =
      steps.binary(BinaryKind::kSub, steps.binary(BinaryKind::kMul, at, scales), steps.number(1));
  ir::GridSample sample;
  sample.surroundings = ir::Surroundings::kEdge;
  sample.align_corners = true;
  const ValueId values = steps.add(sample, {x, steps.reshape(grid, {1, height, width, 2})});
  op.emit(ir::Where{}, {is_inside, values, steps.number(0)});
}

}  // namespace halftone::formats::circle
