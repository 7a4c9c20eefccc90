// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/activations.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/lower.h"
#include "halftone/formats/low_bit_layer.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::circle {
namespace {

using schema::BuiltinOptionsUnion;

/// Writes one node; an overload per operator that needs few words.
class NodeExport {
 public:
  NodeExport(Exporter& exporter, const ir::Node& node) : exporter_(exporter), node_(node) {}

  void operator()(const ir::Unary& op) const;
  void operator()(const ir::Binary& op) const;
  void operator()(const ir::Cast& op) const;
  void operator()(const ir::FullyConnected& op) const;
  void operator()(const ir::Recurrent& /*op*/) const { export_recurrent(exporter_, node_); }
  void operator()(const ir::Conv& /*op*/) const {
    is_dense_layer() ? export_convolution(exporter_, node_) : export_lowbit(exporter_, node_);
  }
  void operator()(const ir::ConvTranspose& /*op*/) const {
    is_dense_layer() ? export_transposed(exporter_, node_) : export_lowbit(exporter_, node_);
  }
  void operator()(const ir::Pool& /*op*/) const { export_pool(exporter_, node_); }
  void operator()(const ir::MatMul& op) const;
  void operator()(const ir::Where& /*op*/) const { add(OperatorCode::kSelectV2); }
  void operator()(const ir::Pad& op) const;
  void operator()(const ir::Tile& op) const;
  void operator()(const ir::BroadcastTo& op) const;
  void operator()(const ir::Resize& op) const;
  void operator()(const ir::Gather& op) const;
  void operator()(const ir::Softmax& op) const;
  void operator()(const ir::Reshape& op) const;
  void operator()(const ir::Transpose& op) const;
  void operator()(const ir::Concat& op) const;
  void operator()(const ir::Slice& op) const;
  /// Written by the FullyConnected that reads the codes.
  void operator()(const ir::Encode& /*op*/) const {}
  void operator()(const ir::FakeQuantize& /*op*/) const { export_fake_quantize(exporter_, node_); }
  void operator()(const ir::QuantizeLinear& /*op*/) const { add(OperatorCode::kQuantize); }
  void operator()(const ir::DequantizeLinear& /*op*/) const { add(OperatorCode::kDequantize); }

 private:
  [[nodiscard]] const ir::ValueType& input_type(std::size_t i) const {
    return exporter_.graph().value(node_.inputs[i]).type;
  }
  [[nodiscard]] bool is_dense_layer() const {
    return input_type(0).encoding.is_dense() && input_type(1).encoding.is_dense();
  }
  [[nodiscard]] const ir::ValueType& output_type() const {
    return exporter_.graph().value(node_.output).type;
  }
  /// Adds the operator with the node's inputs and additional ones.
  void add(OperatorCode code, BuiltinOptionsUnion options = {},
           std::initializer_list<TensorIndex> more = {}) const {
    exporter_.add_node(code, node_, std::move(options), more);
  }
  template <typename Options>
  void add_arithmetic(OperatorCode code, const ir::Activation& activation) const {
    Options options;
    options.fused_activation_function = activation_type(activation);
    add(code, united(std::move(options)));
  }
  void add_strided_slice(const ir::Slice& op) const;
  /// With a begin or a size that the network computes.
  void add_computed_slice(const ir::Slice& op) const;

  Exporter& exporter_;
  const ir::Node& node_;
};

void NodeExport::operator()(const ir::Unary& op) const {
  if (op.activation.kind == ir::ActivationKind::kNot &&
      output_type().is_dense(ir::ElementType::kBool)) {
    return add(OperatorCode::kLogicalNot);
  }
  const auto code = builtin_unary(op.activation);
  if (!code) fail(ErrorKind::kUnsupported, "no equivalent operator in the format");
  BuiltinOptionsUnion options;
  if (*code == OperatorCode::kLeakyRelu) {
    schema::LeakyReluOptionsT slope;
    slope.alpha = op.activation.alpha;
    options = united(slope);
  } else if (*code == OperatorCode::kGelu) {
    schema::GeluOptionsT gelu;
    gelu.approximate = op.activation.kind == ir::ActivationKind::kGeluTanh;
    options = united(gelu);
  }
  add(*code, std::move(options));
}

/// A binary kind in files, if it has no options.
struct BinaryCode {
  ir::BinaryKind kind;
  OperatorCode code;
};

constexpr BinaryCode kBinaryCodes[] = {
    {ir::BinaryKind::kMax, OperatorCode::kMaximum},
    {ir::BinaryKind::kMin, OperatorCode::kMinimum},
    {ir::BinaryKind::kPow, OperatorCode::kPow},
    {ir::BinaryKind::kPRelu, OperatorCode::kPrelu},
    {ir::BinaryKind::kMod, OperatorCode::kFloorMod},
    {ir::BinaryKind::kAnd, OperatorCode::kLogicalAnd},
    {ir::BinaryKind::kOr, OperatorCode::kLogicalOr},
    {ir::BinaryKind::kEqual, OperatorCode::kEqual},
    {ir::BinaryKind::kLess, OperatorCode::kLess},
    {ir::BinaryKind::kLessOrEqual, OperatorCode::kLessEqual},
    {ir::BinaryKind::kGreater, OperatorCode::kGreater},
    {ir::BinaryKind::kGreaterOrEqual, OperatorCode::kGreaterEqual},
};

void NodeExport::operator()(const ir::Binary& op) const {
  const auto* const entry = std::ranges::find(kBinaryCodes, op.kind, &BinaryCode::kind);
  if (entry != std::end(kBinaryCodes)) return add(entry->code);
  if (op.kind == ir::BinaryKind::kAdd) {
    return add_arithmetic<schema::AddOptionsT>(OperatorCode::kAdd, op.activation);
  }
  if (op.kind == ir::BinaryKind::kSub) {
    return add_arithmetic<schema::SubOptionsT>(OperatorCode::kSub, op.activation);
  }
  if (op.kind == ir::BinaryKind::kMul) {
    return add_arithmetic<schema::MulOptionsT>(OperatorCode::kMul, op.activation);
  }
  if (op.kind == ir::BinaryKind::kDiv) {
    return add_arithmetic<schema::DivOptionsT>(OperatorCode::kDiv, op.activation);
  }
  fail(ErrorKind::kUnsupported, "no equivalent operator in the format");
}

void NodeExport::operator()(const ir::Cast& op) const {
  // As TensorFlow Lite stores weights in float16.
  if (input_type(0).encoding.element == ir::ElementType::kFloat16) {
    return add(OperatorCode::kDequantize);
  }
  schema::CastOptionsT options;
  options.in_data_type = tensor_type(input_type(0).encoding.element);
  options.out_data_type = tensor_type(op.element);
  add(OperatorCode::kCast, united(options));
}

void NodeExport::operator()(const ir::FullyConnected& op) const {
  if (belongs_to_recurrent(exporter_.graph(), node_)) return;
  if (!is_dense_layer()) return export_lowbit(exporter_, node_);
  schema::FullyConnectedOptionsT options;
  options.fused_activation_function = activation_type(op.activation);
  options.keep_num_dims = output_type().shape.rank() != 2;
  if (node_.inputs.size() == 2) return add(OperatorCode::kFullyConnected, united(options), {-1});
  add(OperatorCode::kFullyConnected, united(options));
}

void NodeExport::operator()(const ir::Pad& op) const {
  if (op.mode == ir::PadMode::kEdge || op.mode == ir::PadMode::kWrap) {
    fail(ErrorKind::kUnsupported, "expected known extents of the axes that are padded");
  }
  std::vector<std::int32_t> both;
  for (std::size_t i = 0; i < op.before.size(); ++i) {
    for (const std::size_t count : {op.before[i], op.after[i]}) {
      if (count > (std::size_t{1} << 30)) fail(ErrorKind::kUnsupported, "padding beyond 2^30");
      both.push_back(static_cast<std::int32_t>(count));
    }
  }
  const TensorIndex paddings =
      exporter_.constant("", schema::TensorType::INT32, {static_cast<ir::Dim>(op.before.size()), 2},
                         std::as_bytes(std::span(both)));
  std::vector<TensorIndex> inputs = {exporter_.tensor(node_.inputs[0]), paddings};
  if (op.mode == ir::PadMode::kReflect) {
    return exporter_.add(OperatorCode::kMirrorPad, std::move(inputs), node_.output,
                         united(schema::MirrorPadOptionsT()));
  }
  if (node_.inputs.size() == 1) {
    return exporter_.add(OperatorCode::kPad, std::move(inputs), node_.output);
  }
  inputs.push_back(exporter_.tensor(node_.inputs[1]));
  exporter_.add(OperatorCode::kPadV2, std::move(inputs), node_.output);
}

void NodeExport::operator()(const ir::Tile& op) const {
  const std::vector<std::int64_t> repeats(op.repeats.begin(), op.repeats.end());
  add(OperatorCode::kTile, {}, {exporter_.integers(repeats)});
}

void NodeExport::operator()(const ir::BroadcastTo& /*op*/) const {
  add(OperatorCode::kBroadcastTo, {}, {exporter_.extents(output_type().shape)});
}

/// After lower_resizing().
void NodeExport::operator()(const ir::Resize& op) const {
  const ir::Shape& image = input_type(0).shape;
  const bool is_image = image.rank() == 4 && (op.axis == 1 || op.axis == 2);
  if (!is_image || op.mode == ir::Interpolation::kCubic) {
    fail(ErrorKind::kUnsupported, "resizing of " + image.to_string());
  }
  std::vector<std::int64_t> size = {image[1], image[2]};
  size[op.axis - 1] = static_cast<std::int64_t>(op.count);
  const bool aligned = op.coordinates == ir::Coordinates::kAlignCorners;
  const bool half = op.coordinates == ir::Coordinates::kHalfPixel ||
                    op.coordinates == ir::Coordinates::kHalfPixelForNearest;
  const TensorIndex extents = exporter_.integers(size);
  if (op.mode == ir::Interpolation::kLinear) {
    schema::ResizeBilinearOptionsT options;
    options.align_corners = aligned;
    options.half_pixel_centers = half;
    return add(OperatorCode::kResizeBilinear, united(options), {extents});
  }
  schema::ResizeNearestNeighborOptionsT options;
  options.align_corners = aligned;
  options.half_pixel_centers = half;
  add(OperatorCode::kResizeNearestNeighbor, united(options), {extents});
}

void NodeExport::operator()(const ir::Gather& op) const {
  if (take_apart(exporter_.graph(), node_).weights != nullptr) {
    return export_lowbit(exporter_, node_);
  }
  schema::GatherOptionsT options;
  options.axis = static_cast<std::int32_t>(op.axis);
  add(OperatorCode::kGather, united(options));
}

void NodeExport::operator()(const ir::MatMul& op) const {
  schema::BatchMatMulOptionsT options;
  options.adj_x = op.transpose_a;
  options.adj_y = op.transpose_b;
  add(OperatorCode::kBatchMatmul, united(options));
}

void NodeExport::operator()(const ir::Softmax& op) const {
  if (op.log) return add(OperatorCode::kLogSoftmax);
  schema::SoftmaxOptionsT options;
  options.beta = op.beta;
  add(OperatorCode::kSoftmax, united(options));
}

void NodeExport::operator()(const ir::Reshape& op) const {
  std::vector<std::int64_t> dims(op.shape.dims().begin(), op.shape.dims().end());
  if (std::ranges::count_if(dims, ir::is_open) > 1) {
    return add(OperatorCode::kReshape, {}, {exporter_.extents(op.shape)});
  }
  std::ranges::replace_if(dims, ir::is_open, -1);
  add(OperatorCode::kReshape, {}, {exporter_.integers(dims)});
}

void NodeExport::operator()(const ir::Transpose& op) const {
  const std::vector<std::int64_t> permutation(op.permutation.begin(), op.permutation.end());
  add(OperatorCode::kTranspose, {}, {exporter_.integers(permutation)});
}

void NodeExport::operator()(const ir::Concat& op) const {
  schema::ConcatenationOptionsT options;
  options.axis = static_cast<std::int32_t>(op.axis);
  add(OperatorCode::kConcatenation, united(options));
}

void NodeExport::operator()(const ir::Slice& op) const {
  const std::size_t rank = output_type().shape.rank();
  if (ir::is_expression(static_cast<ir::Dim>(op.begin)) ||
      ir::is_expression(static_cast<ir::Dim>(op.count))) {
    return add_computed_slice(op);
  }
  if (op.step != 1 && op.count > 1) return add_strided_slice(op);
  std::vector<std::int64_t> begins(rank, 0);
  std::vector<std::int64_t> sizes(rank, -1);
  begins[op.axis] = static_cast<std::int64_t>(op.begin);
  sizes[op.axis] = static_cast<std::int64_t>(op.count);
  const TensorIndex begin = exporter_.integers(begins);
  add(OperatorCode::kSlice, {}, {begin, exporter_.integers(sizes)});
}

void NodeExport::add_computed_slice(const ir::Slice& op) const {
  if (op.step != 1) fail(ErrorKind::kUnsupported, "steps along an open extent");
  const auto along = [&](std::size_t extent, std::int64_t other) {
    std::vector<TensorIndex> parts(output_type().shape.rank(), exporter_.integers({&other, 1}));
    parts[op.axis] = exporter_.extents(ir::Shape{static_cast<ir::Dim>(extent)});
    return exporter_.list(std::move(parts));
  };
  const TensorIndex begin = along(op.begin, 0);
  add(OperatorCode::kSlice, {}, {begin, along(op.count, -1)});
}

void NodeExport::add_strided_slice(const ir::Slice& op) const {
  const std::size_t rank = output_type().shape.rank();
  if (rank > 31) fail(ErrorKind::kUnsupported, "a slice of more than 31 axes");
  std::vector<std::int64_t> begins(rank, 0);
  std::vector<std::int64_t> ends(rank, 0);
  std::vector<std::int64_t> steps(rank, 1);
  const auto begin = static_cast<std::int64_t>(op.begin);
  const std::int64_t last = begin + (static_cast<std::int64_t>(op.count) - 1) * op.step;
  begins[op.axis] = begin;
  ends[op.axis] = op.step > 0 ? last + 1 : last - 1;
  steps[op.axis] = op.step;
  schema::StridedSliceOptionsT options;
  const std::int32_t bit = std::int32_t{1} << op.axis;
  options.begin_mask = static_cast<std::int32_t>((std::int64_t{1} << rank) - 1) & ~bit;
  // An end of -1 would count from the back, so an end before the first element is left open.
  options.end_mask = options.begin_mask | (ends[op.axis] < 0 ? bit : 0);
  const TensorIndex first = exporter_.integers(begins);
  const TensorIndex end = exporter_.integers(ends);
  add(OperatorCode::kStridedSlice, united(options), {first, end, exporter_.integers(steps)});
}

}  // namespace

schema::ActivationFunctionType activation_type(const ir::Activation& activation) {
  const auto code = activation_code(activation.kind);
  if (!code) fail(ErrorKind::kUnsupported, to_string(activation) + " cannot be fused in the file");
  return static_cast<schema::ActivationFunctionType>(*code);
}

namespace {

template <typename Op>
void write_node(Exporter& exporter, const ir::Node& node, const Op& op) {
  NodeExport(exporter, node)(op);
}
template <typename... Ops>
constexpr std::array<WriterEntry, sizeof...(Ops)> kWritersOf = {
    node_writer_entry<Exporter, Ops, write_node<Ops>>()...};
constexpr auto kNodeWriters =
    kWritersOf<ir::Unary, ir::Binary, ir::Cast, ir::FullyConnected, ir::Recurrent, ir::Conv,
               ir::ConvTranspose, ir::Pool, ir::MatMul, ir::Where, ir::Pad, ir::Tile,
               ir::BroadcastTo, ir::Resize, ir::Gather, ir::Softmax, ir::Reshape, ir::Transpose,
               ir::Concat, ir::Slice, ir::Encode, ir::FakeQuantize, ir::QuantizeLinear,
               ir::DequantizeLinear>;

/// Whether a node computes with integer codes, which files wrap in conversions.
bool computes_with_codes(const ir::Graph& graph, const ir::Node& node) {
  return ir::computes_sums(node.op) && ir::are_codes(graph.value(node.inputs[0]).type);
}

}  // namespace

Writer find_writer(const ir::Operator& op) {
  static const ir::OperatorTable<Writer> table = {kNodeWriters, reduce_writers(), loop_writers(),
                                                  search_writers()};
  return table[op];
}

void export_node(Exporter& exporter, const ir::Node& node) {
  with_context(describe(node), [&] {
    if (computes_with_codes(exporter.graph(), node)) {
      fail(ErrorKind::kUnsupported, "arithmetic on integers of 8 bits");
    }
    if (ir::is_layer(node.op) && node.inputs.size() > 3) {
      fail(ErrorKind::kUnsupported, "a layer that adds its result");
    }
    const Writer write = find_writer(node.op);
    if (write == nullptr) fail(ErrorKind::kUnsupported, "cannot be written to this format");
    write(exporter, node);
  });
}

}  // namespace halftone::formats::circle
