// SPDX-License-Identifier: Apache-2.0
// Operators that find elements, after lower_searches().
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/exporter.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::ElementType;
using Tensors = std::vector<TensorIndex>;

ir::ValueType narrow_list(Dim count) { return ir::dense_type(ElementType::kInt32, {count}); }

const ir::ValueType& type_of(const Exporter& exporter, ir::ValueId id) {
  return exporter.graph().value(id).type;
}

TensorIndex float_constant(Exporter& exporter, float number) {
  return exporter.constant("", schema::TensorType::FLOAT32, {},
                           std::as_bytes(std::span(&number, 1)));
}
TensorIndex integer_scalar(Exporter& exporter, std::int32_t number) {
  return exporter.constant("", schema::TensorType::INT32, {}, std::as_bytes(std::span(&number, 1)));
}

/// Writes int32 indices as the int64 ones of a node.
void add_wide(Exporter& exporter, TensorIndex indices, ir::ValueId output) {
  schema::CastOptionsT cast;
  cast.in_data_type = schema::TensorType::INT32;
  cast.out_data_type = schema::TensorType::INT64;
  exporter.add(OperatorCode::kCast, {indices}, output, united(cast));
}

void write_top_k(Exporter& exporter, const ir::Node& node, const ir::TopK& op) {
  const ir::ValueType& x = type_of(exporter, node.inputs[0]);
  const ir::Shape& shape = type_of(exporter, node.output).shape;
  const TensorIndex values = exporter.computed_tensor(node.name + "/values", {shape, x.encoding});
  const TensorIndex indices =
      exporter.computed_tensor(node.name + "/narrow", ir::dense_type(ElementType::kInt32, shape));
  const TensorIndex k = exporter.extents(ir::Shape{static_cast<Dim>(op.k)});
  exporter.add(OperatorCode::kTopKV2, {exporter.tensor(node.inputs[0]), k},
               Tensors{values, indices});
  add_wide(exporter, indices, node.output);
}

void write_arg_reduce(Exporter& exporter, const ir::Node& node, const ir::ArgReduce& op) {
  if (op.last) fail(ErrorKind::kUnsupported, "the last of equal elements");
  const TensorIndex axis = integer_scalar(exporter, static_cast<std::int32_t>(op.axis));
  if (op.largest) {
    schema::ArgMaxOptionsT options;
    options.output_type = schema::TensorType::INT64;
    return exporter.add_node(OperatorCode::kArgMax, node, united(options), {axis});
  }
  schema::ArgMinOptionsT options;
  options.output_type = schema::TensorType::INT64;
  exporter.add_node(OperatorCode::kArgMin, node, united(options), {axis});
}

void write_gather_nd(Exporter& exporter, const ir::Node& node, const ir::GatherND& op) {
  if (op.batch_dims != 0) fail(ErrorKind::kUnsupported, "axes that indices share");
  exporter.add_node(OperatorCode::kGatherNd, node);
}

/// Which of the first elements of a list there are, from their count.
TensorIndex present(Exporter& exporter, const std::string& name, TensorIndex count, Dim bound) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(bound));
  std::iota(positions.begin(), positions.end(), std::int64_t{0});
  const TensorIndex result =
      exporter.computed_tensor(name + "/present", ir::dense_type(ElementType::kBool, {bound}));
  exporter.add(OperatorCode::kLess, {exporter.integers(positions), count}, Tensors{result});
  return result;
}

/// The least threshold above one.
float threshold_above(float threshold) {
  const float above = std::nextafter(threshold, 2.0F);
  if (above > 1) fail(ErrorKind::kUnsupported, "an iou_threshold of 1");
  return above;
}

/// The rows (0, 0, box) of a list of boxes, int32 [bound]; -1 past those that were found.
void add_rows(Exporter& exporter, const ir::Node& node, TensorIndex chosen, TensorIndex found) {
  const Dim bound = type_of(exporter, node.output).shape[0];
  const TensorIndex mask = present(exporter, node.name, found, bound);
  const TensorIndex none = integer_scalar(exporter, -1);
  const auto column = [&](TensorIndex values) {
    const TensorIndex marked =
        exporter.computed(OperatorCode::kSelectV2, {mask, values, none}, bound);
    const TensorIndex made = exporter.computed_tensor(
        node.name + "/column", ir::dense_type(ElementType::kInt32, {bound, 1}));
    exporter.add(OperatorCode::kReshape, {marked, exporter.extents({bound, 1})}, Tensors{made});
    return made;
  };
  const TensorIndex zeros = column(integer_scalar(exporter, 0));
  const TensorIndex rows = exporter.computed_tensor(
      node.name + "/rows", ir::dense_type(ElementType::kInt32, {bound, 3}));
  schema::ConcatenationOptionsT concatenation;
  concatenation.axis = 1;
  exporter.add(OperatorCode::kConcatenation, {zeros, zeros, column(chosen)}, Tensors{rows},
               united(concatenation));
  add_wide(exporter, rows, node.output);
}

/// An input as a list without the axes of one image and one class.
TensorIndex flat_input(Exporter& exporter, const ir::Node& node, std::size_t input,
                       const ir::Shape& shape) {
  const TensorIndex made =
      exporter.computed_tensor(node.name + "/list", ir::dense_type(ElementType::kFloat32, shape));
  exporter.add(OperatorCode::kReshape,
               {exporter.tensor(node.inputs[input]), exporter.extents(shape)}, Tensors{made});
  return made;
}

/// LiteRT finds boxes without an area again and again.
void write_suppression(Exporter& exporter, const ir::Node& node, const ir::NonMaxSuppression& op) {
  const ir::Shape scores = type_of(exporter, node.inputs[1]).shape;
  const ir::Shape result = type_of(exporter, node.output).shape;
  if (node.inputs.size() > 2) fail(ErrorKind::kUnsupported, "a limit or thresholds as inputs");
  if (scores[0] != 1 || scores[1] != 1 || !result.is_static() || !scores.is_static()) {
    fail(ErrorKind::kUnsupported, "more than 1024 images and classes, or open extents");
  }
  const TensorIndex chosen =
      exporter.computed_tensor(node.name + "/chosen", narrow_list(result[0]));
  const TensorIndex found = exporter.computed_tensor(
      node.name + "/count", ir::dense_type(ElementType::kInt32, ir::Shape{}));
  const TensorIndex boxes = flat_input(exporter, node, 0, {scores[2], 4});
  const float least = std::max(op.score_threshold, -std::numeric_limits<float>::max());
  exporter.add(OperatorCode::kNonMaxSuppressionV4,
               {boxes, flat_input(exporter, node, 1, {scores[2]}),
                integer_scalar(exporter, static_cast<std::int32_t>(result[0])),
                float_constant(exporter, threshold_above(op.iou_threshold)),
                float_constant(exporter, least)},
               Tensors{chosen, found});
  add_rows(exporter, node, chosen, found);
}

void write_unique(Exporter& exporter, const ir::Node& node, const ir::Unique& op) {
  const ir::ValueType& x = type_of(exporter, node.inputs[0]);
  if (op.sorted || op.result != ir::UniqueResult::kInverse || x.shape.rank() != 1) {
    fail(ErrorKind::kUnsupported, "distinct slices of more than one axis or of no known number");
  }
  schema::UniqueOptionsT options;
  options.idx_out_type = schema::TensorType::INT64;
  exporter.add(
      OperatorCode::kUnique, {exporter.tensor(node.inputs[0])},
      Tensors{exporter.computed_tensor(node.name + "/values", x), exporter.tensor(node.output)},
      united(options));
}

constexpr WriterEntry kSearchWriters[] = {
    node_writer_entry<Exporter, ir::TopK, write_top_k>(),
    node_writer_entry<Exporter, ir::ArgReduce, write_arg_reduce>(),
    node_writer_entry<Exporter, ir::GatherND, write_gather_nd>(),
    node_writer_entry<Exporter, ir::NonMaxSuppression, write_suppression>(),
    node_writer_entry<Exporter, ir::Unique, write_unique>(),
};

}  // namespace

std::span<const WriterEntry> search_writers() { return kSearchWriters; }

}  // namespace halftone::formats::circle
