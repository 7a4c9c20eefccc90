// SPDX-License-Identifier: Apache-2.0
// TFLite's custom operator behind detectors of boxes: it decodes boxes against anchors, suppresses
// those that overlap, and gives a known count of detections, padded with zeros.
// Source: detection_postprocess.cc of TensorFlow Lite.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

/// The first threshold below one that values must reach.
float below(float threshold) {
  return std::nextafter(threshold, -std::numeric_limits<float>::infinity());
}

/// Rows of detections; those past the last are not valid.
struct Detections {
  ValueId valid;    ///< booleans [n, 1]
  ValueId boxes;    ///< indices [n]
  ValueId classes;  ///< [n, K], int64
  ValueId scores;   ///< [n, K]
};

class DetectionImport {
 public:
  explicit DetectionImport(OperatorImport& op)
      : op_(op),
        fields_(read_detection_options(std::as_bytes(elements(op.table().custom_options())))) {}

  void run();

 private:
  ValueId add(ir::Operator op, std::vector<ValueId> inputs) {
    return op_.step(std::move(op), std::move(inputs), std::to_string(++steps_));
  }
  ValueId binary(BinaryKind kind, ValueId a, ValueId b) {
    return add(ir::Binary{kind, {}}, {a, b});
  }
  ValueId reshape(ValueId value, ir::Shape shape) {
    return add(ir::Reshape{std::move(shape)}, {value});
  }
  ValueId columns(ValueId rows, std::size_t begin, std::size_t count) {
    return add(ir::Slice{1, begin, 1, count}, {rows});
  }
  ValueId whole(std::int64_t number) {
    return op_.graph().add_constant("number", ir::Tensor::from<std::int64_t>({}, {&number, 1}));
  }
  ValueId pair(float first, float second) {
    const std::array<float, 2> numbers = {first, second};
    return op_.graph().add_constant("scales", ir::Tensor::from<float>({2}, std::span(numbers)));
  }
  [[nodiscard]] Dim rows(ValueId value) const { return op_.shape(value)[0]; }

  void check_inputs();
  ValueId decoded();
  ValueId suppressed(ValueId scores, std::int64_t most);
  Detections best_of_boxes();
  Detections best_of_classes();
  ValueId filled(ValueId values, ValueId valid);
  ValueId padded(ValueId values, std::size_t axis, Dim count);
  void emit_padded(ValueId values, std::size_t output);

  OperatorImport& op_;
  DetectionFields fields_;
  ValueId decoded_ = ir::kAbsent;  ///< corners [S, 4]
  ValueId scores_ = ir::kAbsent;   ///< [S, C], without the background
  int steps_ = 0;
};

void DetectionImport::check_inputs() {
  check(op_.num_outputs() == 4, "expected 4 outputs");
  const ir::Shape boxes = op_.shape(op_.number(0));
  const ir::Shape scores = op_.shape(op_.number(1));
  const ir::Shape anchors = op_.shape(op_.number(2));
  check(boxes.rank() == 3 && scores.rank() == 3 && anchors.rank() == 2 && boxes[0] == 1 &&
            scores[0] == 1 && boxes[1] == scores[1] && boxes[1] == anchors[0] && boxes[2] >= 4 &&
            anchors[1] == 4,
        "expected boxes [1, S, 4], scores [1, S, C] and anchors [S, 4], found " +
            boxes.to_string() + ", " + scores.to_string() + " and " + anchors.to_string());
  const std::int64_t background = scores[2] - fields_.num_classes;
  check(fields_.num_classes > 0 && (background == 0 || background == 1),
        "num_classes: expected the classes of scores " + scores.to_string() +
            " or one less, found " + std::to_string(fields_.num_classes));
}

/// Centers and sizes relative to the anchors as corners (top, left, bottom, right).
ValueId DetectionImport::decoded() {
  const ValueId encoded =
      columns(reshape(op_.number(0), {rows(op_.number(2)), op_.shape(op_.number(0))[2]}), 0, 4);
  const ValueId anchors = op_.number(2);
  const ValueId sizes = columns(anchors, 2, 2);
  const ValueId moved =
      binary(BinaryKind::kDiv, columns(encoded, 0, 2), pair(fields_.y_scale, fields_.x_scale));
  const ValueId centers =
      binary(BinaryKind::kAdd, binary(BinaryKind::kMul, moved, sizes), columns(anchors, 0, 2));
  const ValueId scaled =
      binary(BinaryKind::kDiv, columns(encoded, 2, 2), pair(fields_.h_scale, fields_.w_scale));
  const ValueId factors = add(ir::Unary{{ir::ActivationKind::kExp, 0, 0}}, {scaled});
  const ValueId halves =
      binary(BinaryKind::kMul, binary(BinaryKind::kMul, factors, op_.scalar(0.5F, "half")), sizes);
  return add(ir::Concat{1}, {binary(BinaryKind::kSub, centers, halves),
                             binary(BinaryKind::kAdd, centers, halves)});
}

/// Rows (0, class, box) of the boxes that remain, by scores [1, C, S].
ValueId DetectionImport::suppressed(ValueId scores, std::int64_t most) {
  ir::NonMaxSuppression op;
  op.max_per_class = static_cast<std::size_t>(most);
  op.iou_threshold = fields_.nms_iou_threshold;
  op.score_threshold = below(fields_.nms_score_threshold);
  return add(op, {reshape(decoded_, {1, rows(decoded_), 4}), scores});
}

/// Suppresses boxes by their best scores; each has its best classes.
Detections DetectionImport::best_of_boxes() {
  const std::int64_t kinds = std::min(fields_.max_classes_per_detection, fields_.num_classes);
  const ValueId classes = add(ir::TopK{1, static_cast<std::size_t>(kinds), true}, {scores_});
  const ValueId scores = add(ir::GatherElements{1}, {scores_, classes});
  const ValueId best = reshape(columns(scores, 0, 1), {1, 1, rows(scores)});
  const ValueId column = columns(suppressed(best, fields_.max_detections), 2, 1);
  const ValueId boxes = reshape(binary(BinaryKind::kMax, column, whole(0)), {rows(column)});
  return {binary(BinaryKind::kGreaterOrEqual, column, whole(0)), boxes,
          add(ir::Gather{0}, {classes, boxes}), add(ir::Gather{0}, {scores, boxes})};
}

/// Suppresses boxes class by class; of all, those with the best scores remain.
Detections DetectionImport::best_of_classes() {
  const Dim num_classes = fields_.num_classes;
  const ValueId by_class =
      reshape(add(ir::Transpose{{1, 0}}, {scores_}), {1, num_classes, rows(scores_)});
  const ValueId found = suppressed(by_class, fields_.detections_per_class);
  const ValueId pairs = binary(BinaryKind::kMax, columns(found, 1, 2), whole(0));
  const ValueId scores =
      add(ir::GatherND{0}, {reshape(by_class, {num_classes, rows(scores_)}), pairs});
  const ValueId exists = binary(BinaryKind::kGreaterOrEqual, columns(found, 2, 1), whole(0));
  const ValueId ranked = add(ir::Where{}, {reshape(exists, {rows(found)}), scores,
                                           op_.scalar(-std::numeric_limits<float>::max(), "none")});
  const auto count = static_cast<std::size_t>(std::min(fields_.max_detections, rows(found)));
  const ValueId best = add(ir::TopK{0, count, true}, {ranked});
  const ValueId chosen = add(ir::Gather{0}, {pairs, best});
  const auto n = static_cast<Dim>(count);
  return {add(ir::Gather{0}, {exists, best}), reshape(columns(chosen, 1, 1), {n}),
          columns(chosen, 0, 1), reshape(add(ir::Gather{0}, {scores, best}), {n, 1})};
}

/// Rows as float32 with zeros where they are not valid.
ValueId DetectionImport::filled(ValueId values, ValueId valid) {
  if (!op_.graph().value(values).type.is_dense(ElementType::kFloat32)) {
    values = add(ir::Cast{ElementType::kFloat32}, {values});
  }
  return add(ir::Where{}, {valid, values, op_.scalar(0, "nothing")});
}

ValueId DetectionImport::padded(ValueId values, std::size_t axis, Dim count) {
  const ir::Shape shape = op_.shape(values);
  const Dim missing = count - shape[axis];
  if (missing == 0) return values;
  ir::Pad pad;
  pad.before.assign(shape.rank(), 0);
  pad.after.assign(shape.rank(), 0);
  pad.after[axis] = static_cast<std::size_t>(missing);
  return add(std::move(pad), {values});
}

/// Values [n, K, each...] as an output [1, detections, each...].
void DetectionImport::emit_padded(ValueId values, std::size_t output) {
  const Dim all = fields_.max_detections * fields_.max_classes_per_detection;
  const ir::Shape shape = op_.shape(values);
  const Dim each = fields_.use_regular_nms ? 1 : fields_.max_classes_per_detection;
  values = padded(padded(values, 1, each), 0, all / each);
  const Dim inner = shape.rank() == 3 ? shape[2] : 1;
  op_.emit(ir::Reshape{inner == 1 ? ir::Shape{1, all} : ir::Shape{1, all, inner}}, {values},
           output);
}

void DetectionImport::run() {
  check_inputs();
  decoded_ = decoded();
  const Dim all = op_.shape(op_.number(1))[2];
  scores_ = columns(reshape(op_.number(1), {rows(decoded_), all}),
                    static_cast<std::size_t>(all - fields_.num_classes),
                    static_cast<std::size_t>(fields_.num_classes));
  const Detections found = fields_.use_regular_nms ? best_of_classes() : best_of_boxes();
  const ValueId boxes = filled(add(ir::Gather{0}, {decoded_, found.boxes}), found.valid);
  const Dim n = rows(boxes);
  const Dim kinds = op_.shape(found.scores)[1];
  emit_padded(add(ir::BroadcastTo{{n, kinds, 4}}, {reshape(boxes, {n, 1, 4})}), 0);
  emit_padded(filled(found.classes, found.valid), 1);
  emit_padded(filled(found.scores, found.valid), 2);
  const ValueId ones = add(ir::Cast{ElementType::kFloat32}, {found.valid});
  const ValueId count = add(ir::Reduce{ir::ReduceKind::kSum, {0, 1}, false}, {ones});
  op_.emit(ir::Reshape{{1}}, {count}, 3);
}

}  // namespace

void import_detections(OperatorImport& op) { DetectionImport(op).run(); }

}  // namespace halftone::formats::circle
